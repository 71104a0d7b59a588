#!/usr/bin/perl
# Perl's zlib modules in all ways: `sweep.pl write FOLDER` writes streams, `sweep.pl read FOLDER` decodes
# those that any library wrote. TAP on the standard output; it must not depend on the library.
use strict;
use warnings;
use Test::More;
use Compress::Raw::Zlib;
use Compress::Zlib ();
use IO::Compress::Gzip qw(gzip $GzipError);
use IO::Compress::Deflate qw(deflate $DeflateError);
use IO::Compress::RawDeflate qw(rawdeflate $RawDeflateError);
use IO::Compress::Zip qw(zip $ZipError);
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use IO::Uncompress::Inflate qw(inflate $InflateError);
use IO::Uncompress::RawInflate qw(rawinflate $RawInflateError);
use IO::Uncompress::Unzip qw(unzip $UnzipError);
use IO::Uncompress::AnyInflate qw(anyinflate $AnyInflateError);

my ($verb, $folder) = @ARGV;
srand 7;
my $prose = join ' ', map { ('lorem', 'ipsum', 'dolor', "sit\n", 'amet', 42)[rand 6] . int rand 90 } 1 .. 30000;
my @texts = ('', 'a', 'a' x 1000, substr($prose, 0, 90), substr($prose, 0, 9000), $prose,
             join '', map { chr int rand 256 } 1 .. 5000);

sub put {
    my ($name, $bytes) = @_;
    open my $file, '>:raw', "$folder/$name" or die "$name: $!";
    print $file $bytes;
    close $file or die "$name: $!";
}

sub get {
    my ($name) = @_;
    open my $file, '<:raw', "$folder/$name" or die "$name: $!";
    local $/;
    my $bytes = <$file>;
    return defined $bytes ? $bytes : '';
}

# Name, how it is written, how it is read.
my @ways;
for my $level (Z_DEFAULT_COMPRESSION, 0 .. 9) {
    for my $window (MAX_WBITS, -MAX_WBITS(), 9, WANT_GZIP) {
        push @ways, ["raw-$level-$window", sub {
            my ($d, $status) = Compress::Raw::Zlib::Deflate->new(-Level => $level, -WindowBits => $window,
                -AppendOutput => 1, -MemLevel => 1 + ($level + 8) % 9);
            is $status + 0, Z_OK, "deflateInit $level $window";
            my $out = '';
            my $text = $_[0];
            my $n = 0;
            while (length $text) {
                my $part = substr $text, 0, 1 + int(length($text) / 3), '';
                is $d->deflate($part, $out) + 0, Z_OK, 'deflate';
                is $d->flush($out, (Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH)[$n++ % 3]) + 0, Z_OK, 'flush'
                    if $n < 6;
            }
            is $d->flush($out) + 0, Z_OK, 'finish';
            is $d->total_in, length $_[0], 'total_in';
            is $d->total_out, length $out, 'total_out';
            return $out;
        }, sub {
            my ($in, $step) = @_;
            my ($i, $status) = Compress::Raw::Zlib::Inflate->new(-WindowBits => $window, -AppendOutput => 1,
                -LimitOutput => $step % 2, -Bufsize => $step);
            my $out = '';
            while (length $in) {
                my $part = substr $in, 0, $step, '';
                do { $status = $i->inflate($part, $out) } while $status == Z_OK && length $part || $status == Z_BUF_ERROR && length $part;
                last if $status == Z_STREAM_END;
            }
            is $status + 0, Z_STREAM_END, 'inflate ends';
            is $i->total_out, length $out, 'total_out';
            return $out;
        }];
    }
}
for my $strategy (Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED) {
    push @ways, ["params-$strategy", sub {
        my $d = Compress::Raw::Zlib::Deflate->new(-AppendOutput => 1, -Dictionary => 'lorem ipsum dolor');
        my ($out, $half) = ('', int(length($_[0]) / 2));
        $d->deflate(substr($_[0], 0, $half), $out);
        is $d->deflateParams(-Level => Z_BEST_SPEED, -Strategy => $strategy) + 0, Z_OK, 'deflateParams';
        $d->deflate(substr($_[0], $half), $out);
        $d->flush($out);
        is $d->get_Level, Z_BEST_SPEED, 'level';
        is $d->get_Strategy, $strategy, 'strategy';
        put "dictionary-$strategy", $d->dict_adler;
        return $out;
    }, sub {
        my $i = Compress::Raw::Zlib::Inflate->new(-Dictionary => 'lorem ipsum dolor');
        my ($in, $out) = ($_[0], '');
        is $i->inflate($in, $out) + 0, Z_STREAM_END, 'with a dictionary';
        is $i->dict_adler, get("dictionary-$strategy"), 'its identifier';
        return $out;
    }];
}
my %both = (
    gzip => [\&gzip, \&gunzip], deflate => [\&deflate, \&inflate], rawdeflate => [\&rawdeflate, \&rawinflate],
    zip => [\&zip, \&unzip], any => [\&gzip, \&anyinflate], anydeflate => [\&deflate, \&anyinflate]);
for my $name (sort keys %both) {
    my ($pack, $unpack) = @{ $both{$name} };
    push @ways, ["io-$name", sub {
        my $out;
        ok $pack->(\$_[0], \$out, -Level => 6), "$name";
        return $out;
    }, sub {
        my $out;
        ok $unpack->(\$_[0], \$out), "un$name";
        return $out;
    }];
}
push @ways, ['memory', sub { Compress::Zlib::memGzip($_[0]) }, sub { Compress::Zlib::memGunzip($_[0]) }],
            ['whole', sub { Compress::Zlib::compress($_[0], 9) }, sub { Compress::Zlib::uncompress($_[0]) }];

for my $way (@ways) {
    my ($name, $pack, $unpack) = @$way;
    for my $n (0 .. $#texts) {
        if ($verb eq 'write') {
            put "$name.$n", $pack->($texts[$n]);
            next;
        }
        my $stream = get "$name.$n";
        ok $unpack->($stream, (40000, 4097, 100)[$n % 3]) eq $texts[$n], "$name of text $n";
    }
}
if ($verb eq 'read') {
    # Line by line, several members, trailing data, seek; gzopen's files.
    my $members = join '', map { get "io-gzip.$_" } 3 .. 5;
    my $z = IO::Uncompress::Gunzip->new(\$members, MultiStream => 1);
    my $all = join '', @texts[3 .. 5];
    is join('', $z->getlines), $all, 'several members';
    my $trailing = get('io-gzip.4') . 'trailing';
    $z = IO::Uncompress::Gunzip->new(\$trailing);
    local $/;
    is $z->getline, $texts[4], 'with something behind';
    is $z->trailingData, 'trailing', 'which is kept';
    my $gz = Compress::Zlib::gzopen("$folder/io-gzip.5", 'rb');
    my ($line, $lines) = ('', 0);
    $lines++ while $gz->gzreadline($line) > 0;
    is $lines, scalar(() = $prose =~ /\n|[^\n]\z/g), 'gzreadline';
    $gz->gzclose;
    # Damage: the status and its words.
    for my $at (0, 1, 2, 5, 30, 60) {
        my $bad = get 'raw-6-15.4';
        substr($bad, $at % length $bad, 1) ^= "\x5a";
        my ($i) = Compress::Raw::Zlib::Inflate->new;
        my $out = '';
        my $status = $i->inflate($bad, $out);
        ok $status == Z_DATA_ERROR || $status == Z_STREAM_END || $status == Z_OK || $status == Z_BUF_ERROR
            || $status == Z_NEED_DICT, 'damage is an error';
        print "# at $at: " . ($at < 2 ? "$status " . ($i->msg || '') : '') . "\n";
    }
    my ($i) = Compress::Raw::Zlib::Inflate->new;
    my $sync = "junk" . get 'raw-6--15.5';
    is $i->inflateSync($sync) + 0, Z_OK, 'inflateSync finds the full flush';
    is Compress::Raw::Zlib::crc32($prose), 0 + Compress::Zlib::crc32($prose), 'crc32';
    is Compress::Raw::Zlib::crc32_combine(crc32('ab'), crc32('cd'), 2), crc32('abcd'), 'crc32_combine';
    is Compress::Raw::Zlib::adler32_combine(adler32('ab'), adler32('cd'), 2), adler32('abcd'), 'adler32_combine';
    open my $maps, '<', '/proc/self/maps' or die "maps: $!";
    my %libraries = map { (split)[-1] => 1 } grep { /libz\.so/ } split /\n/, <$maps>;
    diag sort keys %libraries;
}
done_testing;
