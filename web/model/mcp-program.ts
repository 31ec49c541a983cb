/** Reads the program of an MCP server from the lines of a form. */

/** Lines need no quotes, as a command line would. */
export function readProgram(text: string, variables: string) {
  const [command = '', ...args] = linesOf(text)
  const env = linesOf(variables).map((line) => {
    const [name = '', ...value] = line.split('=')
    return [name.trim(), value.join('=').trim()] as const
  })
  return { transport: 'stdio', command, args, ...(env.length && { env: Object.fromEntries(env) }) }
}

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
