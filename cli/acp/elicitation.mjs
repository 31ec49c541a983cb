/** Turns a question of the agent into a form of the editor, and the filled form into the answer. */

export function renderForm(sessionId, { question, choices = [], multi_select: isMultiple }) {
  const one = { type: 'string', title: 'Answer' }
  const chosen = isMultiple
    ? { type: 'array', title: 'Answers', items: { type: 'string', enum: choices } }
    : { ...one, enum: choices }
  const properties = choices.length
    ? { answer: chosen, other: { type: 'string', title: 'Another answer' } }
    : { answer: one }
  const required = choices.length ? {} : { required: ['answer'] }
  return { mode: 'form', sessionId, message: question, requestedSchema: { type: 'object', properties, ...required } }
}

/** The answer as text, or undefined when the person gave none. An own answer wins over the choices. */
export function parseAnswer(response) {
  if (response?.action !== 'accept') return undefined
  const { answer, other } = response.content ?? {}
  const text = other || (Array.isArray(answer) ? answer.join(', ') : answer)
  return typeof text === 'string' && text.trim() ? text : undefined
}
