import { expect, it } from 'vitest'
import { callPart, createItemId, parseItemId } from '#agent/public-api/responses/item-ids.ts'
import { createResponseId, parseResponseId } from '#agent/public-api/responses/response-ids.ts'

it('ids of items are parsed back, whatever the name of the session', () => {
  for (const sessionId of ['ses_0123', 'my-chat', 'a_1_b_2', 'x.y:z']) {
    const id = createItemId('mcp', { sessionId, seq: 12 }, callPart('toolu_01/ä'))
    expect(parseItemId(id)).toEqual({ kind: 'mcp', seq: 12, part: callPart('toolu_01/ä'), sessionId })
  }
  for (const id of ['', 'msg_1', 'msg_x_1_s', 'fc_abc', 'call_abc123', 'rs_1_1_'])
    expect(parseItemId(id)).toBe(undefined)
})

it('ids of responses name run, part and session', () => {
  for (const sessionId of ['ses_0123', 'name_1', 'a-b'])
    for (const segment of [0, 3]) {
      const part = { runId: `run_0123456789abcdef_${sessionId}`, segment }
      expect(parseResponseId(createResponseId(part, sessionId))).toEqual({ ...part, sessionId })
      expect(parseResponseId(createResponseId(part))).toBe(undefined)
    }
})
