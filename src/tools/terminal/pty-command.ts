/**
 * Wraps a command so that it runs with a terminal device, by `script` of util-linux or else by Python. Pagers are set to
 * `cat`, because they would wait for a key.
 */

const environment = 'TERM=xterm-256color PAGER=cat GIT_PAGER=cat SHELL=/bin/bash'
const setSize = 'stty rows 40 cols 120 2>/dev/null'
const pythonSpawn = 'import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(["/bin/bash","-c",sys.argv[1]])))'
const missingPtyError =
  'There is no terminal device on this host: it has neither script (util-linux) nor python3. Leave pty out.'

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export function withPty(command: string): string {
  const quotedCommand = quote(`${setSize}; ${command}`)
  return [
    `if command -v script >/dev/null; then env ${environment} script -qec ${quotedCommand} /dev/null`,
    `elif command -v python3 >/dev/null; then env ${environment} python3 -c ${quote(pythonSpawn)} ${quotedCommand}`,
    `else echo ${quote(missingPtyError)} >&2; exit 126; fi`,
  ].join('\n')
}

/** Renders the final screen: of a line that was overwritten, only its last version stays. */
export const renderScreen = (output: string): string => output.replace(/\r+\n/g, '\n').replace(/^.*\r(?=[^\n])/gm, '')
