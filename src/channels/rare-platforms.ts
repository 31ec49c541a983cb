/** Joins platforms that few deployments connect into one part: the core names each part that it can load. */

import { dingtalk } from './dingtalk/dingtalk.ts'
import { linear } from './linear/linear.ts'
import { qq } from './qq/qq.ts'
import { twitch } from './twitch/twitch.ts'
import { webex } from './webex/webex.ts'
import { wecom } from './wecom/wecom.ts'
import { zalo } from './zalo/zalo.ts'

export const rarePlatforms = { linear, webex, dingtalk, zalo, qq, wecom, twitch } as const
