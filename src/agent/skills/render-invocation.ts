/** Renders a message that a person began with names of skills: the skills, marked as such, then the request. */

export type InvokedSkill = { readonly name: string; readonly content: string }

/** It is stored as the user's message, so that every later request repeats the same bytes. */
export function renderInvocation(skills: readonly InvokedSkill[], request: string): string {
  const bodies = skills.map(
    ({ name, content }) =>
      `[The user has chosen the skill ${name}. Follow it for this request.]\n${content.trim()}\n[End of the skill ${name}]`,
  )
  const rest = request.trim() || 'Begin with the skill. Ask if you need something that it requires.'
  return [...bodies, rest].join('\n\n')
}
