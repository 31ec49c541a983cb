/**
 * A terminal device for one command, by what most machines have: `script` of util-linux, else python. Its size and
 * name are those of an ordinary one; pagers, which would wait for a key, only print.
 */

const ENVIRONMENT = 'TERM=xterm-256color PAGER=cat GIT_PAGER=cat SHELL=/bin/bash'
const SIZE = 'stty rows 40 cols 120 2>/dev/null'
const PYTHON = 'import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(["/bin/bash","-c",sys.argv[1]])))'
const NONE =
  'There is no terminal device on this machine: it has neither script (util-linux) nor python3. Leave pty out.'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export function withPty(command: string): string {
  const whole = quoted(`${SIZE}; ${command}`)
  return [
    `if command -v script >/dev/null; then env ${ENVIRONMENT} script -qec ${whole} /dev/null`,
    `elif command -v python3 >/dev/null; then env ${ENVIRONMENT} python3 -c ${quoted(PYTHON)} ${whole}`,
    `else echo ${quoted(NONE)} >&2; exit 126; fi`,
  ].join('\n')
}

/** As the screen would stand in the end: lines that were written over are there once. */
export const renderScreen = (output: string): string => output.replace(/\r+\n/g, '\n').replace(/^.*\r(?=[^\n])/gm, '')
