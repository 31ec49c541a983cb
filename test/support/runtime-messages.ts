/** Drops what the runtime prints about objects that a test killed and connections that a test cut. */

const expected = [
  /broken\.outputGateBroken; jsg\.Error: killed by a test/,
  /kj\/async-io\.c\+\+:\d+: disconnected: (?:abortRead\(\) has been called|read end of pipe was aborted)/,
  /^uncaught exception; source = Uncaught \(in promise\); stack = Error: D1_ERROR: Network connection lost/,
  // Tests read the bytes of a snapshot as text on purpose.
  /Called \.text\(\) on an HTTP body which does not appear to be text/,
]

/** The Vitest plugin writes each message of the runtime to stdout or stderr of this process, and has no filter option. */
export function dropExpectedMessages(stream: { write: (chunk: string) => boolean }): void {
  const write = stream.write.bind(stream)
  stream.write = (...written: Parameters<typeof write>) =>
    expected.some((message) => message.test(String(written[0]))) || write(...written)
}
