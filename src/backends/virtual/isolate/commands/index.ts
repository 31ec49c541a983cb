/** Commands just-bash lacks or gets wrong. Nothing here pretends to be an interpreter that is not there. */

import { attached } from './attached.ts'
import { bc } from './bc.ts'
import { env } from './env.ts'
import { files } from './files.ts'
import type { Command } from './io.ts'
import { lines } from './lines.ts'
import { diff, patch } from './patch.ts'
import { system } from './system.ts'
import { xxd } from './xxd.ts'

export const commands: readonly Command[] = [...attached, bc, diff, env, ...files, ...lines, patch, ...system, xxd]
