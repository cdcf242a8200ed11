import { resource } from '../resource.js'
import { boolean, int64, type Static } from '../schema.js'

/** The online state of a user, as a subscriber may see it. */
export const OnlineState = resource('OnlineState', 'Whether a user is online.', {
  user_id: int64({ description: 'user ID' }),
  online: boolean({ description: 'a device of the user is connected, or was 10 seconds ago' }),
})
/** The online state of a user. */
export type OnlineState = Static<typeof OnlineState>
