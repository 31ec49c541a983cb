/** Holds the code of all commands, by their names in the table. It is loaded with the first command of an isolate. */

import type { CommandName } from '#agent/policy/slash-command/command-table.ts'
import { backgroundCommand } from './background-command.ts'
import { pauseCommand, platformCommand, sethomeCommand, voiceCommand } from './channel-commands.ts'
import type { CommandFallback, CommandHandler } from './command.ts'
import { compressCommand, newCommand, retryCommand, titleCommand, undoCommand } from './conversation-commands.ts'
import { checkpointCommand, forkCommand, rollbackCommand } from './copy-commands.ts'
import { approveCommand, denyCommand } from './decision-commands.ts'
import { goalCommand, subgoalCommand } from './goal-commands.ts'
import { helpCommand } from './help-command.ts'
import { modelCommand, startCommand, statusCommand, usageCommand } from './info-commands.ts'
import {
  agentsCommand,
  contextCommand,
  insightsCommand,
  skillsCommand,
  versionCommand,
  whoamiCommand,
} from './lookup-commands.ts'
import { memoryCommand } from './memory-command.ts'
import { personalityCommand } from './personality-command.ts'
import { heartbeatCommand, loopCommand } from './recurring-commands.ts'
import { reloadMcpCommand } from './reload-mcp-command.ts'
import { resumeCommand, sessionsCommand } from './resume-command.ts'
import { saveCommand } from './save-command.ts'
import { approvalsCommand, busyCommand, footerCommand, reasoningCommand, verboseCommand } from './settings-commands.ts'
import { skillCommands } from './skill-commands.ts'
import { queueCommand, steerCommand, stopCommand } from './turn-commands.ts'

/** A command of the table without code is a type error. */
export const commandHandlers: Readonly<Record<CommandName, CommandHandler>> = {
  new: newCommand,
  sessions: sessionsCommand,
  resume: resumeCommand,
  retry: retryCommand,
  undo: undoCommand,
  checkpoint: checkpointCommand,
  rollback: rollbackCommand,
  compress: compressCommand,
  title: titleCommand,
  fork: forkCommand,
  save: saveCommand,
  stop: stopCommand,
  steer: steerCommand,
  queue: queueCommand,
  approve: approveCommand,
  deny: denyCommand,
  background: backgroundCommand,
  agents: agentsCommand,
  goal: goalCommand,
  subgoal: subgoalCommand,
  heartbeat: heartbeatCommand,
  loop: loopCommand,
  help: helpCommand,
  status: statusCommand,
  context: contextCommand,
  usage: usageCommand,
  insights: insightsCommand,
  whoami: whoamiCommand,
  platform: platformCommand,
  version: versionCommand,
  model: modelCommand,
  reasoning: reasoningCommand,
  personality: personalityCommand,
  verbose: verboseCommand,
  busy: busyCommand,
  footer: footerCommand,
  voice: voiceCommand,
  approvals: approvalsCommand,
  memory: memoryCommand,
  skills: skillsCommand,
  'reload-mcp': reloadMcpCommand,
  sethome: sethomeCommand,
  pause: pauseCommand,
  start: startCommand,
}

/** Asked in their order for names that are not in the table. */
export const commandFallbacks: readonly CommandFallback[] = [skillCommands]
