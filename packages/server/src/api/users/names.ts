import { setEmail, setMobile, setUsername } from '@hermod/protocol'
import type { ProfileService, UniqueField } from '../../domain/users/profile-service.js'
import { type CallContext, type Handler, handle, whenDone } from '../../pipeline/call.js'

/** The names with which a user may log in. */
export function nameHandlers({ profiles }: { readonly profiles: ProfileService }): Handler[] {
  const set = ({ principal }: CallContext<'user'>, field: UniqueField, value: string) =>
    whenDone(
      profiles.setUnique(principal, {
        field,
        value,
      }),
    )
  return [
    handle(setMobile, ({ mobile }, context) => set(context, 'mobile', mobile)),
    handle(setEmail, ({ email }, context) => set(context, 'email', email)),
    handle(setUsername, ({ username }, context) => set(context, 'username', username)),
  ]
}
