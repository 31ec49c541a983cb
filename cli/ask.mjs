/** Asks the person at the terminal what the agent asks, and sends the answer. */

import { createInterface } from 'node:readline/promises'
import { note, plain } from './output.mjs'

/** Resolves to undefined when the input ends. */
export async function readAnswer(question) {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const ended = new Promise((resolve) => terminal.once('close', () => resolve(undefined)))
    return await Promise.race([terminal.question(question), ended])
  } finally {
    terminal.close()
  }
}

export const decide = (client, id, decision, reason) =>
  client.call('POST', `/api/approvals/${encodeURIComponent(id)}`, { decision, ...(reason && { reason }) })

export const answerQuestion = (client, id, answer) =>
  client.call('POST', `/api/questions/${encodeURIComponent(id)}`, { answer })

const letters = { o: 'once', s: 'session', a: 'always', d: 'deny' }

/** Describes what the decisions "session" and "always" allow from then on. */
export function describeRule(tool, rule) {
  if (rule === '*') return `every call of ${tool}`
  return tool === 'terminal' ? `every command "${rule} …"` : `every call of ${tool} for "${rule}"`
}

/** `waiting`: an event or an item of a list. Resolves to whether it was answered. */
export async function askPerson(client, waiting) {
  return 'question' in waiting ? askQuestion(client, waiting) : askApproval(client, waiting)
}

async function askQuestion(client, { question, choices = [], question_id: id, id: listed }) {
  note(plain(question))
  for (const [at, choice] of choices.entries()) note(`  ${at + 1}. ${plain(choice)}`)
  const typed = await readAnswer('> ')
  if (!typed?.trim()) return false
  const chosen = /^\d{1,3}$/.test(typed.trim()) ? choices[Number(typed) - 1] : undefined
  await answerQuestion(client, id ?? listed, chosen ?? typed.trim())
  return true
}

async function askApproval(client, { tool, input, reasons = [], choices, rule, approval_id: id, id: listed }) {
  note(`${plain(tool)} ${plain(JSON.stringify(input, null, 2))}`)
  for (const reason of reasons) note(`  ${plain(reason)}`)
  if (rule !== undefined) note(`  session and always allow ${plain(describeRule(tool, rule))}`)
  const offered = Object.entries(letters).filter(([, decision]) => choices.includes(decision))
  const prompt = offered.map(([letter, decision]) => `${decision} (${letter})`).join(', ')
  for (;;) {
    const typed = await readAnswer(`Allow? ${prompt}: `)
    if (typed === undefined) return false
    const decision = offered.find(([letter, name]) => [letter, name].includes(typed.trim().toLowerCase()))?.[1]
    if (!decision) continue
    await decide(client, id ?? listed, decision)
    return true
  }
}
