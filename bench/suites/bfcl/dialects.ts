/**
 * `node bench/suites/bfcl/dialects.ts FOLDER`: makes the calls of all cases of BFCL in four dialects, streamed and whole,
 * without a server in between, and compares them with what the dialect reads.
 */

import { argumentsOf, callsIn, userText } from '#agent/core/message.ts'
import { bedrockConverse } from '#agent/providers/bedrock/bedrock.ts'
import { encodeToolName } from '#agent/providers/shared/call-id.ts'
import { repairReplies } from '#agent/providers/shared/repair-reply.ts'
import { anthropic } from '#backends/dialects/anthropic.ts'
import { openaiChat, openaiResponses } from '#backends/dialects/openai.ts'
import { exchangeOverHttp } from '../../../test/agent/providers/support/exchange.ts'
import {
  type AnsweringDialect,
  streamedAnswers,
  wholeAnswers,
} from '../../../test/agent/providers/support/call-answers.ts'
import { type BfclCase, readCases } from './cases.ts'

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('usage: node bench/suites/bfcl/dialects.ts FOLDER')
const cases = readCases(folder)
const exchanges = {
  'openai-chat': exchangeOverHttp(repairReplies(openaiChat)),
  'openai-responses': exchangeOverHttp(repairReplies(openaiResponses)),
  anthropic: exchangeOverHttp(repairReplies(anthropic)),
  'bedrock-converse': exchangeOverHttp(repairReplies(bedrockConverse((request) => fetch(request))), {
    key: 'AKIAEXAMPLE:secret',
  }),
}

async function isRight({ prompt, tools, calls }: BfclCase, dialect: AnsweringDialect, isWhole: boolean) {
  const sent = calls.map(({ name, json }, at) => ({ id: `call_${at}`, name: encodeToolName(name), json }))
  const { reply } = await exchanges[dialect](
    {
      model: 'some-model',
      system: '',
      transcript: [userText(prompt)],
      tools: tools.map(({ parameters, ...tool }) => ({ ...tool, inputSchema: parameters })),
      ...(isWhole && { repairs: { stream: 'off' } }),
    },
    (isWhole ? wholeAnswers : streamedAnswers)[dialect](sent),
  )
  const given = reply ? callsIn(reply.message).map((call) => ({ name: call.name, json: argumentsOf(call) })) : []
  return JSON.stringify(given) === JSON.stringify(calls.map(({ name, json }) => ({ name, json })))
}

let failed = 0
for (const dialect of Object.keys(exchanges) as AnsweringDialect[])
  for (const isWhole of [false, true]) {
    let right = 0
    for (const one of cases) right += Number(await isRight(one, dialect, isWhole))
    failed += cases.length - right
    console.log(`${dialect} ${isWhole ? 'whole' : 'streamed'}: ${right} of ${cases.length}`)
  }
process.exitCode = failed ? 1 : 0
