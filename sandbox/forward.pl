# Runs inside a sandbox with network: listens on a local port and relays each connection to the proxy of the server,
# whose socket is bound into the sandbox. Returns once it listens, so that the command can start.
# Usage: forward.pl PORT SOCKET
use strict;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;

my ($port, $path) = @ARGV;
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 64, ReuseAddr => 1)
  or exit 0;    # another command of this sandbox listens already
exit 0 if fork;
$SIG{CHLD} = 'IGNORE';
$SIG{HUP} = $SIG{INT} = $SIG{TERM} = $SIG{PIPE} = 'IGNORE';
while (1) {
  my $client = $listener->accept or next;
  if (fork) { close $client; next }
  close $listener;
  my $proxy = IO::Socket::UNIX->new(Peer => $path) or exit 1;
  relay($client, $proxy);
  exit 0;
}

sub relay {
  my ($one, $other) = @_;
  my %peer = ($one => $other, $other => $one);
  my $open = IO::Select->new($one, $other);
  while (my @ready = $open->can_read) {
    for my $from (@ready) {
      my $length = sysread $from, my $bytes, 65536;
      if (!$length) {
        $open->remove($from);
        shutdown $peer{$from}, 1;
        next;
      }
      my $done = 0;
      while ($done < $length) {
        my $written = syswrite $peer{$from}, $bytes, $length - $done, $done;
        return unless $written;
        $done += $written;
      }
    }
    return unless $open->count;
  }
}
