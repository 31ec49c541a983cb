/** Commands that would go on after the terminal has answered, and what to do instead. */

/** Quoted text, here-documents, arithmetic, tests and comments: an `&` in there starts nothing. */
const QUIET = [
  /<<-?\s*(['"]?)(\w+)\1[^\n]*\n[\s\S]*?\n\s*\2(?=\n|$)/g,
  /\\[\s\S]/g,
  /'[^']*'/g,
  /"[^"]*"/g,
  /\$?\(\([^)]*\)\)/g,
  /(^|\s)#[^\n]*/g,
]

const AMPERSAND = /(^|[^&|<>])&(?![&>])/
const DETACHED = /(^|[;&|(]\s*)(nohup|setsid|disown)\b/
const SERVER =
  /(^|[;&|(]\s*)((npm|pnpm|yarn|bun)\s+(run\s+)?(dev|start|serve|watch)\b|(npx\s+)?(vite|nodemon|webpack-dev-server)\b|next\s+dev\b|python3?\s+-m\s+http\.server\b|flask\s+run\b|uvicorn\b|tail\s+(-\w*f|--follow)|watch\s)/

/** Why a command may not run in the foreground, or undefined when it may. */
export function detaches(command: string): string | undefined {
  let plain = command
  for (const quiet of QUIET) plain = plain.replace(quiet, ' ')
  if (DETACHED.test(plain))
    return 'nohup, setsid and disown have no effect here: the command ends with this call. Run it plainly.'
  if (AMPERSAND.test(plain) && !/\bwait\b/.test(plain))
    return 'A trailing & does not keep a command running here. Run it plainly, or end with wait.'
  if (SERVER.test(plain))
    return 'This command does not end by itself and would only time out. Run something that finishes.'
  return undefined
}
