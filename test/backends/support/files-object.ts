/** Exports an empty Durable Object, on whose storage tests open backends with `runInDurableObject`. */

import { DurableObject } from 'cloudflare:workers'

export class FilesObject extends DurableObject {}
