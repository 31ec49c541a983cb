/**
 * Defines the faults of a provider in any dialect, and the expected outcome of each: when it happens once, and when it
 * persists.
 */

import { bare, breaks, cut, silence, whole, type Piece } from './bytes.ts'
import { answered, broken, failed, type Fault, final, halved, mistaken, passing, stalling, waits } from './outcomes.ts'
import type { Wire } from './wire.ts'

export type { Fault, Outcome } from './outcomes.ts'

const retry = (value: () => string) => () => ({ 'retry-after': value() })

const statuses = ({ error }: Wire): readonly Fault[] => [
  final('400', error(400, 'This request has a field that nobody knows.'), 'invalid', /rejected the request/),
  final('401', error(401, 'Incorrect API key provided.'), 'auth', /refused the API key/),
  final('402', error(402, 'Payment required.'), 'quota', /no credit or quota/),
  final('403', error(403, 'You may not use this model with this key.'), 'forbidden', /may not use this model/),
  final('404', error(404, 'The model `x` does not exist.'), 'missing_model', /does not have this model/),
  broken('408', error(408, 'Request timeout.')),
  passing('409', error(409, 'Conflict.'), 'conflict', /conflict with another request/),
  final('413', error(413, 'Request entity too large.'), 'too_large', /send it in smaller parts/),
  final('422', error(422, 'The field messages.0.colour is not allowed here.'), 'invalid', /rejected the request/),
  {
    name: '429 with Retry-After in seconds',
    fault: error(
      429,
      'Slow down.',
      retry(() => '1'),
    ),
    blip: answered('wait 1000 ms'),
    lasting: failed('rate', /limits the rate/, 'wait 1000 ms', 'wait 1000 ms', 'wait 1000 ms'),
  },
  {
    name: '429 with Retry-After as a date',
    fault: error(
      429,
      'Slow down.',
      retry(() => new Date(Date.now() + 4_900).toUTCString()),
    ),
    // Two of these pauses are too long together, however late it is read.
    maxWaitSeconds: 5,
    blip: answered(/^wait [2-4]\d{3} ms$/),
    lasting: failed('rate', /limits the rate/, waits),
  },
  final(
    '429 with an absurd Retry-After',
    error(
      429,
      'Slow down.',
      retry(() => '1e9'),
    ),
    'rate',
    /limits the rate/,
  ),
  passing('500', error(500, 'Internal error.'), 'server', /keeps failing inside/),
  passing('502', whole('<html>Bad gateway</html>', 'text/html', 502), 'server', /keeps failing inside/),
  passing('503', error(503, 'Service unavailable.'), 'overloaded', /overloaded/),
  passing('529', error(529, 'Overloaded.'), 'overloaded', /overloaded/),
]

const connections: readonly Fault[] = [
  broken('refused', breaks('fetch failed', new Error('connect ECONNREFUSED 127.0.0.1:9'))),
  broken('reset', breaks('fetch failed', new Error('read ECONNRESET'))),
  broken('dropped before the headers', breaks('Network connection lost.')),
  {
    name: 'certificate',
    fault: breaks('fetch failed', new Error('certificate has expired')),
    blip: failed('tls', /certificate/),
    lasting: failed('tls', /certificate/),
  },
  broken('redirect without an end', breaks('Too many redirects.')),
  broken('redirect to nowhere', bare(302)),
]

const cuts = ({ stream, open, text, halfFrame, halfCharacter, callBegun }: Wire): readonly Fault[] => {
  const half: readonly Piece[] = [...open, text('Half of it: ')]
  return [
    halved('dropped in the middle of a frame', stream(...half, ...halfFrame, cut)),
    halved('dropped in the middle of a UTF-8 character', stream(...half, ...halfCharacter, cut)),
    halved('over before the end, without a word', stream(...half)),
    broken(
      'dropped in the middle of the JSON of a call',
      stream(...open, ...callBegun('c1', 'terminal', '{"command":"echo x >> /work'), cut),
    ),
  ]
}

const bodies = ({ stream, open, text, overloaded, failedInside, unreadable }: Wire): readonly Fault[] => [
  passing('200 and an error inside', stream(...open, text('Half of it: '), overloaded), 'overloaded', /overloaded/),
  passing('200 and nothing but an error', failedInside, 'server', /keeps failing inside/),
  broken('HTML', whole('<!doctype html><title>Sign in</title>', 'text/html')),
  broken('nothing in a 200', stream()),
  broken('a frame that cannot be read', stream(...open, ...unreadable)),
  broken('one line of 8 MB that is nothing', stream(`data: ${'x'.repeat(8_000_000)}\n\n`)),
]

const stalls = ({ stream, open, text, signsOfLife }: Wire): readonly Fault[] => [
  stalling('no first byte', stream(silence)),
  stalling('a byte, and then nothing', stream(':', silence)),
  stalling('a beginning, and then nothing', stream(...open, silence)),
  {
    ...stalling('half of it, and then nothing', stream(...open, text('Half of it: '), silence)),
    blip: { did: ['continue'], exit: 'answered', output: /^Half of it: All is well\.$/ },
    // The fifth silence in a row: the model is not asked again.
    lasting: failed(
      'stalled',
      /Half of it: [\s\S]*I could not finish this/,
      'continue',
      'continue',
      'continue',
      'reconnect',
    ),
  },
  ...Object.entries(signsOfLife).map(([name, again]) =>
    stalling(`${name} without end`, stream({ again, everyMs: 100 })),
  ),
]

const mistakes = ({ stream, open, call, end, text, refusal }: Wire): readonly Fault[] => {
  const asking = (...calls: readonly Parameters<Wire['call']>[]) =>
    stream(...open, ...calls.flatMap((one) => call(...one)), ...end('tools'))
  return [
    mistaken('arguments that are not JSON', asking([0, 'c1', 'terminal', '{"command": "echo'])),
    {
      ...mistaken('an unknown tool', asking([0, 'c1', 'no_such_tool', '{}'])),
      lasting: { did: [], exit: 'partial', output: /tools that do not exist \(no_such_tool\)/ },
    },
    mistaken(
      'calls with the same id',
      asking(
        [0, 'same', 'todo', '{"todos":[{"id":"1","content":"a","status":"pending"}]}'],
        [1, 'same', 'read_file', '{"path":"none.txt"}'],
      ),
    ),
    mistaken('NaN as an argument', asking([0, 'c1', 'terminal', '{"timeout":NaN}'])),
    final('refusal', stream(...open, ...refusal), 'refused', /declined/),
    final('content filter', stream(...open, text('Half of it: '), ...end('filter')), 'refused', /declined/),
  ]
}

/** All that can go wrong in this dialect. */
export function faultsOf(wire: Wire): readonly Fault[] {
  const all = [...statuses(wire), ...connections, ...stalls(wire), ...cuts(wire), ...bodies(wire), ...mistakes(wire)]
  const names = new Set(all.map(({ name }) => name))
  const strange = Object.keys(wire.cannot ?? {}).filter((name) => !names.has(name))
  if (strange.length) throw new Error(`${wire.name} cannot have faults that nobody knows: ${strange.join(', ')}`)
  return [...all.filter(({ name }) => !Object.hasOwn(wire.cannot ?? {}, name)), ...wire.own]
}
