/** `/personality`: shows or changes how the agent speaks in this session. */

import { patchSettings } from '#agent/core/settings.ts'
import { findPersonality, listPersonalities, noPersonality } from '#agent/prompt/personalities.ts'
import { rebuildPrompt } from '#durable/turn/prepare-turn.ts'
import type { Session } from '../session.ts'
import { reply, type CommandHandler } from './command.ts'

export const personalityCommand: CommandHandler = async (session, { text }) => {
  await session.ensureTenant()
  const { personality = noPersonality, personalities } = session.settings.agent ?? {}
  const known = `Known: ${listPersonalities(personalities).join(', ')}, ${noPersonality}.`
  const name = text.toLowerCase()
  if (!name) return reply(`The personality is ${personality}. ${known}`)
  if (name !== noPersonality && !findPersonality(name, personalities))
    return reply(`There is no personality ${name}. ${known}`)
  await setPersonality(session, name)
  return reply(`The personality is now ${name}. It counts from the next answer on.`)
}

/** The prompt is built again at once: a person who asks for another tone expects it in the next answer. */
async function setPersonality(session: Session, name: string): Promise<void> {
  const patched = patchSettings(session.meta.settings, { agent: { personality: name } })
  if (patched.kind === 'wrong') throw new Error(`${patched.at}: ${patched.message}`)
  session.updateMeta({ settings: patched.settings, oneShot: undefined })
  await rebuildPrompt(session)
  session.runInBackground(session.turns.project())
}
