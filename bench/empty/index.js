/** Answers every request, under the configuration of the product: shows what the runtime and its simulators cost alone. */

import { DurableObject } from 'cloudflare:workers'

export class SessionDO extends DurableObject {}
export class TenantDO extends DurableObject {}
export class ConnectionDO extends DurableObject {}

export default { fetch: () => Response.json({ status: 'ok' }) }
