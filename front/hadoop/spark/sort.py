"""The Spark application that spark/run measures: sorts gzip text by key into gzip text.

INPUT OUTPUT [CODEC]: the class to write with; GzipCodec if none is given. Nothing in it knows of
Lookaside.
"""

import sys
import time

from pyspark.sql import SparkSession

source, target = sys.argv[1:3]
codec = sys.argv[3] if len(sys.argv) > 3 else "org.apache.hadoop.io.compress.GzipCodec"
session = SparkSession.builder.getOrCreate()
start = time.monotonic()
# Lines, sorted within the Java machine: no line passes through Python.
lines = session.read.text(source).sort("value")
lines.write.option("compression", codec).text(target)
print(f"elapsed_ms={int((time.monotonic() - start) * 1000)}")
session.stop()
