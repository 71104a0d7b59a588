package org.lookaside.textsort;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.mapreduce.lib.partition.InputSampler;
import org.apache.hadoop.mapreduce.lib.partition.TotalOrderPartitioner;
import org.apache.hadoop.mapreduce.v2.MiniMRYarnCluster;
import org.apache.hadoop.util.StringUtils;

/**
 * TextSort: sorts text files by key, as Hadoop's example of the name Sort does, on a cluster within
 * this process whose tasks are Java machines of their own. Everything is in the Hadoop jars: the
 * mapper and the reducer are the identity, and the job knows nothing of Lookaside. What a user of
 * the library sets is {@code mapreduce.map.env} and {@code mapreduce.reduce.env}.
 */
public final class TextSort {
  private TextSort() {}

  /** Options, each {@code --name=value}: see {@code front/hadoop/compare.py}, which calls this. */
  public static void main(String[] args) throws Exception {
    Map<String, String> options = new HashMap<>();
    List<String> settings = new ArrayList<>();
    for (String arg : args) {
      int equals = arg.indexOf('=');
      if (arg.startsWith("-D")) {
        settings.add(arg.substring(2));
      } else if (arg.startsWith("--") && equals > 0) {
        options.put(arg.substring(2, equals), arg.substring(equals + 1));
      } else {
        throw new IllegalArgumentException(arg);
      }
    }
    Configuration conf = new Configuration();
    for (String setting : settings) {
      int equals = setting.indexOf('=');
      conf.set(setting.substring(0, equals), setting.substring(equals + 1));
    }
    Path input = new Path(new File(options.get("input")).toURI());
    Path output = new Path(new File(options.get("output")).toURI());
    int reduces = Integer.parseInt(options.getOrDefault("reduces", "2"));
    try (MiniMRYarnCluster cluster = new MiniMRYarnCluster("cluster", 1)) {
      cluster.init(conf);
      cluster.start();
      run(new Configuration(cluster.getConfig()), input, output, reduces);
    } catch (Exception | LinkageError e) {
      e.printStackTrace();
      System.exit(1);
    }
    print("process_cpu_ms", ownCpu() / 1_000_000);
    // What is left of the cluster's threads is of no use to anybody.
    System.exit(0);
  }

  private static void run(Configuration conf, Path input, Path output, int reduces)
      throws IOException, InterruptedException, ClassNotFoundException {
    Job sort = Job.getInstance(conf, "TextSort");
    sort.setJarByClass(TextSort.class);
    sort.setMapperClass(Mapper.class);
    sort.setReducerClass(Reducer.class);
    sort.setNumReduceTasks(reduces);
    sort.setInputFormatClass(KeyValueTextInputFormat.class);
    sort.setOutputFormatClass(TextOutputFormat.class);
    sort.setOutputKeyClass(Text.class);
    sort.setOutputValueClass(Text.class);
    FileInputFormat.addInputPath(sort, input);
    FileOutputFormat.setOutputPath(sort, output);

    if (reduces > 1) {
      // The ranges of the reducers, from the first records of each file; the same for every run.
      Path partitions = new Path(output.getParent(), output.getName() + ".partitions");
      TotalOrderPartitioner.setPartitionFile(sort.getConfiguration(), partitions);
      sort.setPartitionerClass(TotalOrderPartitioner.class);
      InputSampler.writePartitionFile(sort, new InputSampler.SplitSampler<Text, Text>(20_000));
    }

    long own = ownCpu();
    long start = System.nanoTime();
    boolean good = sort.waitForCompletion(false);
    long elapsed = System.nanoTime() - start;
    own = ownCpu() - own;
    if (!good) {
      throw new IOException("the sort failed: " + sort.getStatus().getFailureInfo());
    }

    print("elapsed_ms", elapsed / 1_000_000);
    print("cluster_cpu_ms", own / 1_000_000);
    for (TaskType type : new TaskType[] {TaskType.MAP, TaskType.REDUCE}) {
      long cpu = 0;
      int tasks = 0;
      for (var report : sort.getTaskReports(type)) {
        Counters counters = new Counters(report.getTaskCounters());
        cpu += counters.findCounter(TaskCounter.CPU_MILLISECONDS).getValue();
        tasks++;
      }
      String name = StringUtils.toLowerCase(type.name());
      print(name + "_tasks", tasks);
      print(name + "_cpu_ms", cpu);
    }
    Counters counters = sort.getCounters();
    print("map_records", counters.findCounter(TaskCounter.MAP_INPUT_RECORDS).getValue());
    print("spilled_records", counters.findCounter(TaskCounter.SPILLED_RECORDS).getValue());
    print("map_output_bytes", counters.findCounter(TaskCounter.MAP_OUTPUT_BYTES).getValue());
    print(
        "map_materialized_bytes",
        counters.findCounter(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES).getValue());
    print("merged_map_outputs", counters.findCounter(TaskCounter.MERGED_MAP_OUTPUTS).getValue());
    print("gc_ms", counters.findCounter(TaskCounter.GC_TIME_MILLIS).getValue());
    long bytes = 0;
    for (FileStatus file : FileSystem.get(output.toUri(), conf).listStatus(output)) {
      bytes += file.getPath().getName().startsWith("part-") ? file.getLen() : 0;
    }
    print("output_bytes", bytes);
  }

  private static long ownCpu() {
    var system =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return system.getProcessCpuTime();
  }

  private static void print(String name, long value) {
    System.out.println(name + "=" + value);
  }
}
