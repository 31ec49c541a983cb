/**
 * Creates fake models that reason, call tools and read images, one for each dialect. Their answers are written in their
 * dialect, and a fake provider checks every request.
 */

import { findAnthropicViolations } from '#test/agent/providers/fakes/anthropic.ts'
import { findBedrockViolations } from '#test/agent/providers/fakes/bedrock.ts'
import { findChatViolations } from '#test/agent/providers/fakes/openai-chat.ts'
import { findResponsesViolations } from '#test/agent/providers/fakes/openai-responses.ts'
import { findWorkersAiViolations } from '#test/agent/providers/fakes/workers-ai.ts'
import * as messages from '#test/agent/providers/fixtures/anthropic.ts'
import * as converse from '#test/agent/providers/fixtures/bedrock.ts'
import * as responses from '#test/agent/providers/fixtures/openai-responses.ts'
import type { ModelRequest } from '#test/support/scripted-model.ts'
import { type Answer, type Piece, type Provider, provider, stream } from '../../chaos/bytes.ts'
import type { Wire } from '../../chaos/wire.ts'
import { anthropic } from '../../chaos/wires/anthropic.ts'
import { bedrock } from '../../chaos/wires/bedrock.ts'
import { frame, openaiChat } from '../../chaos/wires/openai-chat.ts'
import { openaiResponses } from '../../chaos/wires/openai-responses.ts'
import { workersAi } from '../../chaos/wires/workers-ai.ts'

export type Call = { readonly id: string; readonly name: string; readonly input: object }
/** One answer: reasoning, then text or calls. */
export type FakeAnswer = { readonly thought: string; readonly text?: string; readonly calls?: readonly Call[] }

export type DialectFake = {
  readonly wire: Wire
  /** `nth`: no two answers of a model have the same ids. */
  readonly answer: (speech: FakeAnswer, nth: number) => Answer
  readonly faults: (body: unknown) => readonly string[]
  /** The settings of the model enable reasoning. */
  readonly reasoning?: true
}

const argumentsOf = ({ input }: Call) => JSON.stringify(input)
const hasCalls = ({ calls = [] }: FakeAnswer) => calls.length > 0

const inChunks =
  (wire: Wire) =>
  ({ thought, text, calls = [] }: FakeAnswer): Answer => {
    const pieces: Piece[] = [frame({ delta: { reasoning_content: thought } })]
    if (text !== undefined) pieces.push(wire.text(text))
    for (const [at, call] of calls.entries()) pieces.push(...wire.call(at, call.id, call.name, argumentsOf(call)))
    return wire.stream(...pieces, ...wire.end(calls.length ? 'tools' : 'stop'))
  }

/** A signature of reasoning. A provider rejects another one. */
const seal = (nth: number) => `c2VhbA${nth}=`.slice(0, 8)

export const dialectFakes: readonly DialectFake[] = [
  { wire: openaiChat, answer: inChunks(openaiChat), faults: findChatViolations },
  {
    wire: anthropic,
    reasoning: true,
    faults: findAnthropicViolations,
    answer: (speech, nth) =>
      stream(
        messages.serializeEvents(
          messages.messageStart(),
          ...messages.thinkingBlock(0, seal(nth), speech.thought),
          ...(speech.text === undefined ? [] : messages.textBlock(1, speech.text)),
          ...(speech.calls ?? []).flatMap((call, at) =>
            messages.toolUseBlock(at + 2, call.id, call.name, argumentsOf(call)),
          ),
          ...messages.messageEnd(hasCalls(speech) ? 'tool_use' : 'end_turn'),
        ),
      ),
  },
  {
    wire: openaiResponses,
    reasoning: true,
    faults: findResponsesViolations,
    answer: (speech, nth) => {
      const { body } = responses.completedResponse(
        responses.reasoningItem([[speech.thought]], `rs_${nth}`),
        ...(speech.text === undefined ? [] : [responses.messageItem([speech.text])]),
        ...(speech.calls ?? []).map((call) => responses.callItem(call.id, call.name, [argumentsOf(call)])),
      )
      return stream(body as string)
    },
  },
  {
    wire: bedrock,
    reasoning: true,
    faults: findBedrockViolations,
    answer: (speech, nth) =>
      bedrock.stream(
        ...bedrock.open,
        ...converse.thinkingBlock(0, seal(nth), speech.thought),
        ...(speech.text === undefined ? [] : converse.textBlock(1, speech.text)),
        ...(speech.calls ?? []).flatMap((call, at) =>
          converse.toolUseBlock(at + 2, call.id, call.name, argumentsOf(call)),
        ),
        ...converse.messageEnd(hasCalls(speech) ? 'tool_use' : 'end_turn'),
      ),
  },
  { wire: workersAi, answer: inChunks(workersAi), faults: findWorkersAiViolations },
]

export type Speaker = Provider & {
  readonly tongue: DialectFake
  /** What the provider would have refused, in words. */
  readonly faults: string[]
  /** Every request, as text. */
  readonly bodies: string[]
}

/** A model that answers its nth request with this, or fails. */
export function createFakeModel(tongue: DialectFake, script: (nth: number) => FakeAnswer | Answer): Speaker {
  const faults: string[] = []
  const bodies: string[] = []
  const respond = (asked: ModelRequest, nth: number) => {
    bodies.push(JSON.stringify(asked))
    faults.push(...tongue.faults(asked).map((fault) => `${tongue.wire.name} ${nth}: ${fault}`))
  }
  const played = provider((nth, asked) => {
    respond(asked, nth)
    const said = script(nth)
    return typeof said === 'function' ? said : tongue.answer(said, nth)
  }, tongue.wire.provider)
  return { ...played, tongue, faults, bodies }
}

/** Settings under which these models are asked in their dialects, to think, and are shown images. */
export const settingsFor = (...speakers: readonly Speaker[]) => ({
  models: Object.fromEntries(
    speakers.map(({ id, tongue: { wire, reasoning } }) => [
      id,
      { images: true, ...(reasoning && { reasoning }), ...(!wire.provider && { dialect: wire.name }) },
    ]),
  ),
  model: { reasoning_effort: 'high' },
  compression: { enabled: false },
})
