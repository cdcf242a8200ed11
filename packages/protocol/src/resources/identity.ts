import { instant, resource } from '../resource.js'
import { type Static, text } from '../schema.js'

/** An identity of a user. */
export const Identity = resource('Identity', 'A user as another system knows it.', {
  issuer: text('the system'),
  subject: text('the ID of the user there'),
  linked_at: instant('time of the link'),
})
/** A subject of an issuer that is linked to a user. */
export type Identity = Static<typeof Identity>
