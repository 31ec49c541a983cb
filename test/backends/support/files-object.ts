/** An object with nothing in it but its storage: tests open backends on it with `runInDurableObject`. */

import { DurableObject } from 'cloudflare:workers'

export class FilesObject extends DurableObject {}
