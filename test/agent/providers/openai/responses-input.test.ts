import { describe, expect, it } from 'vitest'
import type { Message } from '#agent/core/message.ts'
import { encodeToolName } from '#agent/providers/shared/call-id.ts'
import { renderInputItems } from '#agent/providers/openai/responses-input.ts'
import { pixelPng, toolResult } from '../support/requests.ts'
import {
  assistant,
  callPart,
  helloMessage,
  type InputItem,
  phaseMarker,
  reasoningItem,
  sealedThinking,
  textPart,
} from '../support/responses-requests.ts'

describe('renderInputItems', () => {
  const image = { type: 'image', mediaType: 'image/png', data: pixelPng } as const
  const shownImage = { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${pixelPng}` } as const
  const cases: readonly (readonly [string, Message, readonly InputItem[]])[] = [
    ['renders user text as a message', helloMessage, [{ type: 'message', role: 'user', content: 'hello' }]],
    [
      'renders an image as a part',
      { role: 'user', content: [textPart('see'), image] },
      [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'see' }, shownImage] }],
    ],
    [
      'puts reasoning before the text that it led to',
      assistant(sealedThinking('rs_1'), textPart('Yes.')),
      [reasoningItem('rs_1'), { type: 'message', role: 'assistant', content: 'Yes.' }],
    ],
    [
      'puts reasoning before calls, and keeps text between them',
      assistant(
        sealedThinking('rs_1'),
        textPart('First '),
        textPart('this.'),
        sealedThinking('rs_2'),
        callPart('c1', { at: 'a' }),
        callPart('c2'),
      ),
      [
        reasoningItem('rs_1'),
        { type: 'message', role: 'assistant', content: 'First this.' },
        reasoningItem('rs_2'),
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"a"}' },
        { type: 'function_call', call_id: 'c2', name: 'look', arguments: '{}' },
      ],
    ],
    [
      'ignores blank text between reasoning and a call',
      assistant(sealedThinking('rs_1'), textPart(' \n'), callPart('c1')),
      [reasoningItem('rs_1'), { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }],
    ],
    [
      'drops reasoning without a following item',
      assistant(textPart('Yes.'), sealedThinking('rs_1')),
      [{ type: 'message', role: 'assistant', content: 'Yes.' }],
    ],
    [
      'drops thinking that is not sealed by this dialect',
      assistant(
        { type: 'thinking', text: 'hm', sealed: { by: 'anthropic', data: 'x' } },
        { type: 'thinking', text: 'hm' },
        textPart('Yes.'),
      ),
      [{ type: 'message', role: 'assistant', content: 'Yes.' }],
    ],
    [
      'restores the phase of a text',
      assistant(
        phaseMarker('commentary'),
        textPart('I look.'),
        sealedThinking('rs_1'),
        phaseMarker('final_answer'),
        textPart('Found.'),
      ),
      [
        { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
        reasoningItem('rs_1'),
        { type: 'message', role: 'assistant', content: 'Found.', phase: 'final_answer' },
      ],
    ],
    [
      'sends empty arguments for invalid ones',
      assistant({ ...callPart('c1'), raw: '{"at' }),
      [{ type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }],
    ],
    [
      'encodes an invalid tool name',
      assistant({ ...callPart('c1'), name: 'functions.look up' }),
      [{ type: 'function_call', call_id: 'c1', name: encodeToolName('functions.look up'), arguments: '{}' }],
    ],
    [
      'renders a result as text',
      toolResult('c1', 'a tree'),
      [{ type: 'function_call_output', call_id: 'c1', output: 'a tree' }],
    ],
    [
      'renders an image in a result',
      toolResult('c1', '', { content: [textPart('here'), image] }),
      [{ type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'here' }, shownImage] }],
    ],
  ]
  it.each(cases)('%s', (_name, message, expected) => {
    expect(renderInputItems(message)).toEqual(expected)
  })

  it('sends reasoning only to the host that encrypted it', () => {
    const of = (from: string, id: string) =>
      ({ type: 'thinking', text: 'hm', sealed: { by: `openai-responses@${from}`, data: reasoningItem(id) } }) as const
    const message = assistant(of('a.test', 'rs_1'), textPart('Yes.'), of('b.test', 'rs_2'), callPart('c1'))
    const listReasoning = (host?: string) =>
      renderInputItems(message, {}, host).filter(({ type }) => type === 'reasoning')
    expect([listReasoning('a.test'), listReasoning('b.test'), listReasoning()]).toEqual([
      [reasoningItem('rs_1')],
      [reasoningItem('rs_2')],
      [],
    ])
  })

  it('drops thinking when a repair removes it', () => {
    const message = assistant(
      sealedThinking('rs_1'),
      phaseMarker('final_answer'),
      textPart('Yes.'),
      sealedThinking('rs_2'),
      callPart('c1'),
    )
    expect(renderInputItems(message, { thinking: 'left-out' }).map(({ type }) => type)).toEqual([
      'message',
      'function_call',
    ])
  })
})
