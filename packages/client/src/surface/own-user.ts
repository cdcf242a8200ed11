import type { Client, ProfileChanges } from '../api.js'
import type { Hub } from '../views/hub.js'
import type { Interests } from '../views/interests.js'
import { cachedValueOf } from '../views/users.js'
import { deriveView } from '../views/view.js'
import { fromWire, settingsToWire, type WireProfile, type WireSettings } from '../wire/from-wire.js'
import { checkOptionalText, refuse } from './arguments.js'
import type { Caller } from './caller.js'
import { checkFile, type Uploader } from './uploader.js'

/** Parts of a client that the own user uses. */
interface OwnUserSources {
  readonly interests: Interests
  readonly call: Caller
  readonly upload: Uploader
}

/** Names of the changes of a profile in the contract. */
const profileNames: Readonly<Record<keyof ProfileChanges, string>> = {
  nickname: 'nick_name',
  description: 'description',
  publicInfo: 'public_info',
  privateInfo: 'private_info',
}

/** Makes the part of a client that is about its user. */
export function createOwnUser(
  hub: Hub,
  { interests, call, upload }: OwnUserSources,
): Pick<Client, 'profile' | 'settings' | 'updateProfile' | 'setAvatar' | 'updateSettings'> {
  const cachedView = <Wire, Public>(key: string, publicOf: (value: Wire) => Public) =>
    deriveView(hub, {
      initial: undefined,
      inputs: () => [cachedValueOf<Wire | null>(hub.session.state, key)],
      derive: (value) => (value ? publicOf(value) : undefined),
      start: () => interests.add({ rank: 2, reads: () => [key] }),
    })
  return {
    profile: cachedView('profile', (profile: WireProfile) => fromWire.profile(profile)),
    settings: cachedView('settings', (settings: WireSettings) => fromWire.settings(settings)),
    async updateProfile(changes, options) {
      checkObject(changes)
      for (const [name, value] of Object.entries(changes)) {
        if (!Object.hasOwn(profileNames, name))
          refuse(`changes.${name}`, 'absent: it has no change')
        checkOptionalText(`changes.${name}`, value)
      }
      const members = Object.entries(profileNames)
        .map(([name, wire]) => [wire, changes[name as keyof ProfileChanges]])
        .filter(([, value]) => value !== undefined)
      await call('user.profile.update', Object.fromEntries(members), options)
    },
    async setAvatar(picture, options) {
      if (picture !== null) checkFile('picture', picture)
      const url = picture ? await upload(['file.upload.avatar.user', {}], picture, options) : ''
      await call('user.avatar.update', { avatar: url }, options)
    },
    async updateSettings(changes, options) {
      checkObject(changes)
      const settings = { user_id: hub.me, ...settingsToWire(changes) }
      await call('user.settings.update', settings as never, options)
    },
  }
}

function checkObject(changes: unknown): void {
  if (typeof changes !== 'object' || changes === null) refuse('changes', 'an object')
}
