/** Makes the working directory of a job's session. */

import type { Session } from '../session.ts'

export async function loadDirectory(session: Session, path: string): Promise<void> {
  const { backend } = session.toolRuntime
  // The backend is opened first, because it says how paths are read.
  await backend.files.stat('.')
  const cwd = backend.resolve(path)
  await backend.exec(`mkdir -p -- '${cwd.replaceAll("'", `'\\''`)}'`, { timeoutMs: 30_000 })
  session.updateMeta({ shell: { cwd, env: {} } })
}
