import * as z from 'zod'
import type { Assessment } from '../../agent/model/approval.ts'
import { BackendError, type ExecResult, type ExecutionBackend } from '../../agent/model/backend.ts'
import { hash53 } from '../../agent/model/hash.ts'
import type { CallContext, Services, ShellState } from '../../agent/model/tool.ts'
import { defineTool } from '../define-tool.ts'
import { fail, failWith } from '../tool-result.ts'
import { failOnBackendError } from '../file/read-text-file.ts'
import { assessCommand } from './assess-command.ts'
import { maxBackgroundSeconds, getForegroundRefusal, startInBackground } from './start-in-background.ts'
import { explainExitCode } from './exit-code-meaning.ts'
import { cleanOutput, truncateOutput, replaceBinary } from './format-output.ts'
import { renderScreen, withPty } from './pty-command.ts'

const DEFAULT_SECONDS = 180
const MAX_SECONDS = 600
/** Of each stream, from the machine. More than is shown, so that the rest can be read from a file. */
const MAX_OUTPUT = 256 * 1024

const input = z.object({
  command: z.string().min(1),
  background: z.boolean().default(false).describe('For servers, watchers and long jobs: returns at once.'),
  timeout: z.int().min(1).optional().describe('Seconds, at most 600; 180 if not given. In the background: a day.'),
  workdir: z.string().optional().describe('Directory for this command only.'),
  pty: z.boolean().default(false).describe('A terminal device, where the machine has one; cd and exports do not stay.'),
  notify_on_complete: z.boolean().default(false).describe('Background: a message tells its end.'),
  watch_patterns: z
    .array(z.string().min(1).max(200))
    .max(20)
    .default([])
    .describe('Background: a message tells output lines that contain one of these texts.'),
})
type Input = z.infer<typeof input>

/** The working directory and exported variables carry over to the next command. */
export default defineTool({
  name: 'terminal',
  toolset: 'terminal',
  description:
    'Run a bash command in the workspace. cd and exported variables stay for the next call. For reading, writing and searching files the file tools are better. A workspace that is virtual differs from bash: pipes run one after the other, & waits, a script ends after 50000 commands, trap knows EXIT only, sed has no \\U, awk no system(), and there are no packages, compilers, python or node.',
  input,
  needs: ['backend', 'shell', 'processes'],
  effect: 'effect',
  // A process is named after the call that starts it: starting it again finds it.
  effectOf: ({ background }) => (background ? 'keyed' : 'effect'),
  risk: () => 'exec',
  assess: assessCall,
  touches: () => 'alone',
  run: (wanted, context) =>
    failOnBackendError(async () => {
      const refusal = refuse(wanted, context.backend)
      return refusal === undefined ? runCommand(wanted, context) : fail(refusal)
    }),
})

function refuse(wanted: Input, { jobs, capabilities }: ExecutionBackend): string | undefined {
  const { background, timeout = DEFAULT_SECONDS, command, pty, notify_on_complete: notify, watch_patterns } = wanted
  if (pty && !capabilities.pty)
    return 'There is no terminal device here. Use options that ask nothing and use no pager: -y, --no-pager, --batch.'
  if (background)
    return timeout > maxBackgroundSeconds ? `timeout is at most ${maxBackgroundSeconds} seconds.` : undefined
  if (notify || watch_patterns.length)
    return 'notify_on_complete and watch_patterns are for commands with background: true. A command in the foreground is waited for.'
  if (timeout > MAX_SECONDS)
    return `timeout is at most ${MAX_SECONDS} seconds. ${jobs ? 'For longer commands use background: true.' : 'Split the work into shorter commands.'}`
  return getForegroundRefusal(command, jobs !== undefined)
}

/** The same whether it is waited for or not. */
function assessCall({ command, workdir }: Input, services: Pick<Services, 'backend' | 'shell'>): Assessment {
  const { backend, shell } = services
  const { cwd } = shell.read()
  const at = workdir === undefined ? cwd : backend.resolve(workdir, cwd)
  const { verdict, reasons, commands, rule } = assessCommand(command, at, services)
  return { verdict, reasons, summary: command, subjects: commands, ...(rule !== undefined && { rule }) }
}

type Context = CallContext & Pick<Services, 'backend' | 'shell' | 'processes'>

async function runCommand(wanted: Input, context: Context) {
  const { backend, shell, signal } = context
  const { command, timeout = DEFAULT_SECONDS, workdir } = wanted
  const state = shell.read()
  const home = await standing(backend, state.cwd)
  const cwd = workdir === undefined ? home : backend.resolve(workdir, home)
  if (wanted.background) return startInBackground(backgroundOf(wanted, cwd), context)
  const options = { cwd, env: state.env, timeoutMs: timeout * 1000, signal, maxOutput: MAX_OUTPUT }
  const result = await backend.exec(wanted.pty ? withPty(command) : command, options)
  shell.write({ cwd: workdir === undefined ? result.cwd : home, env: envAfter(state.env, result) })
  return report(wanted.pty ? { ...result, stdout: renderScreen(result.stdout) } : result, wanted, context)
}

const backgroundOf = (wanted: Input, cwd: string) => {
  const { command, pty, timeout: seconds, notify_on_complete: notify, watch_patterns: watch } = wanted
  return { command, pty, cwd, seconds, notify, watch }
}

const envAfter = (before: ShellState['env'], { env, unset = [] }: ExecResult): ShellState['env'] => ({
  ...Object.fromEntries(Object.entries(before).filter(([name]) => !unset.includes(name))),
  ...env,
})

/** The directory of the last command, unless it has been removed since. */
async function standing(backend: ExecutionBackend, cwd: string): Promise<string> {
  const stat = await backend.files.stat(cwd)
  return stat?.type === 'directory' ? cwd : backend.capabilities.root
}

async function report(result: ExecResult, { command, timeout = DEFAULT_SECONDS }: Input, context: Context) {
  const { stdout, stderr, cwd, timedOut } = result
  const { languages } = context.backend.capabilities
  const exitCode = result.exitCode ?? 137
  const meaning = explainExitCode({ command, exitCode, stderr, languages })
  const whole = cleanOutput(join(replaceBinary(stdout), stderr))
  const { text, truncated } = truncateOutput(whole)
  const answer = {
    output: text,
    exit_code: exitCode,
    ...(timedOut && { error: `The command was stopped after ${timeout} seconds.` }),
    ...(meaning && { exit_code_meaning: meaning.text }),
    ...((truncated || result.truncated) && { truncated: true }),
    ...(truncated && (await spilled(whole, context))),
    cwd,
  }
  return exitCode === 0 || meaning?.isSuccess ? answer : failWith(answer)
}

const join = (stdout: string, stderr: string): string =>
  stdout === '' || stderr === '' || stdout.endsWith('\n') ? stdout + stderr : `${stdout}\n${stderr}`

/** All of it that the machine has kept, where read_file finds it. Without a place for it the answer says less. */
async function spilled(text: string, { backend, callId }: Context): Promise<{ readonly output_file?: string }> {
  const path = `/tmp/results/terminal-${callId.replace(/[^\w-]/g, '_').slice(0, 64)}-${hash53(text).toString(36)}.txt`
  try {
    await backend.files.write(path, new TextEncoder().encode(text))
    return { output_file: path }
  } catch (error) {
    if (error instanceof BackendError) return {}
    throw error
  }
}
