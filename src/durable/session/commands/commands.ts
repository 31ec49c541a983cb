/** Lists the commands of a conversation, in the order of `/help`. A new command is one file and one word here. */

import type { CommandFallback, SessionCommand } from './command.ts'
import { backgroundCommand } from './background-command.ts'
import { compressCommand, newCommand, retryCommand, titleCommand, undoCommand } from './conversation-commands.ts'
import { approveCommand, denyCommand } from './decision-commands.ts'
import { goalCommand, subgoalCommand } from './goal-commands.ts'
import { modelCommand, startCommand, statusCommand, usageCommand } from './info-commands.ts'
import { personalityCommand } from './personality-command.ts'
import { skillCommands } from './skill-commands.ts'
import { heartbeatCommand, loopCommand } from './recurring-commands.ts'
import { memoryCommand } from './memory-command.ts'
import { queueCommand, steerCommand, stopCommand } from './turn-commands.ts'

/** `/help` itself is added by its own file, because it reads this list. */
export const sessionCommands: readonly SessionCommand[] = [
  newCommand,
  stopCommand,
  steerCommand,
  queueCommand,
  retryCommand,
  undoCommand,
  compressCommand,
  approveCommand,
  denyCommand,
  backgroundCommand,
  goalCommand,
  subgoalCommand,
  heartbeatCommand,
  loopCommand,
  statusCommand,
  usageCommand,
  modelCommand,
  memoryCommand,
  personalityCommand,
  titleCommand,
  startCommand,
]

/** Asked in their order for names that are in no list. */
export const commandFallbacks: readonly CommandFallback[] = [skillCommands]
