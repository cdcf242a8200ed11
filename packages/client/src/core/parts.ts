import type { CoreContext } from './core-context.js'
import type { Part } from './part.js'
import { Presence } from './presence/presence.js'
import { Receipts } from './presence/receipts.js'
import { Typing } from './presence/typing.js'
import type { LogAccess } from './seams.js'
import { Things } from './things/things.js'
import { Unsent } from './unsent/unsent.js'

/** Stands for Logs until it is there. */
const noLogs: LogAccess = {
  get: () => undefined,
  needHead: () => undefined,
  setDelivered: () => undefined,
}

/** Creates the parts behind Link and Calls, in the order in which they hear of inputs. */
export function createParts(context: CoreContext): readonly Part[] {
  return [
    new Unsent(context, noLogs),
    new Things(context),
    new Presence(context),
    new Typing(context),
    new Receipts(context, noLogs),
  ]
}
