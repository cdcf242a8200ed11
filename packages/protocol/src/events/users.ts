import { array, int32, Type } from '../schema.js'
import { event, payload } from './event-definition.js'
import { ofAccount } from './event-keys.js'

/** Fields of a profile that only its user can read in full. */
const profileFields = [
  'avatar',
  'description',
  'email',
  'mobile',
  'nick_name',
  'private_info',
  'public_info',
  'username',
] as const

const device = payload({ device_sn: int32() })
const toUser = { key: ofAccount, audience: 'users', userChanges: {} } as const
const toDevices = { ...toUser, payload: device, userChanges: { devices: 'users' } } as const
const logins = ['token.exchange', 'token.id', 'token.issue', 'token.login', 'token.user'] as const
const identity = payload({ issuer: Type.String(), subject: Type.String() })
const ofIdentity = {
  payload: identity,
  ...toUser,
  personalTexts: { issuer: '', subject: '' },
} as const

/** Events about accounts and their devices. */
export const userEvents = {
  'user.password_changed': event({
    payload: payload({}),
    ...toUser,
    causedBy: [
      'user.password.change',
      'user.password.change_admin',
      'operator.user.reset_password',
    ],
  }),
  'user.frozen': event({
    payload: payload({}),
    ...toUser,
    causedBy: ['user.disable', 'operator.user.disable'],
  }),
  'user.removed': event({
    payload: payload({}),
    ...toUser,
    causedBy: ['user.delete', 'operator.user.delete'],
  }),
  'user.kicked': event({
    payload: payload({
      device_sn: Type.Optional(int32({ description: 'Absent: every device.' })),
    }),
    ...toUser,
    causedBy: ['token.revoke', 'user.kick'],
  }),
  'user.info_updated': event({
    payload: payload({
      properties: array(Type.String(), { description: 'The fields that changed.' }),
      changed: Type.Object(
        Object.fromEntries(profileFields.map((name) => [name, Type.Optional(Type.String())])),
        { description: 'Their new values; empty once the user is deleted.' },
      ),
    }),
    ...toUser,
    userChanges: { profile: 'users' },
    personalTexts: { changed: {} },
    causedBy: [
      'token.exchange',
      'token.issue',
      'user.avatar.update',
      'user.avatar.batch',
      'user.email.update',
      'user.mobile.update',
      'user.nickname.update',
      'user.private.update',
      'user.profile.update',
      'user.profile.batch',
      'user.public.update',
      'user.register.anonymous',
      'user.register.push',
      'user.register',
      'user.username.update',
      'operator.app.update',
      'operator.user.import',
    ],
  }),
  /** Values are read with /user/settings; tags with /user/push/tag. */
  'user.settings_updated': event({
    payload: payload({
      properties: array(Type.String(), {
        description: 'The settings that were set, as /user/settings names them; or push_tags.',
      }),
    }),
    ...toUser,
    userChanges: { settings: 'users' },
    causedBy: [
      'user.auth_mode.update',
      'user.download.update',
      'user.push.update',
      'user.push.detail.update',
      'user.push.limit.update',
      'user.push.nickname.update',
      'user.push.tag.add',
      'user.push.tag.remove',
      'user.push.tag.clear',
      'user.settings.update',
      'user.sounds.update',
      'user.stranger_chat.update',
      'user.vibratory.update',
    ],
  }),
  /** The user is known in another system; also from its first token on. */
  'user.identity_linked': event({
    ...ofIdentity,
    causedBy: ['operator.user.import', 'token.exchange', 'token.issue', 'user.identity.link'],
  }),
  /** Not when the user is deleted. */
  'user.identity_unlinked': event({ ...ofIdentity, causedBy: ['user.identity.unlink'] }),
  /** A user logged in on a known device. */
  'user.device_logged_in': event({ payload: device, ...toUser, causedBy: logins }),
  'user.device_added': event({ ...toDevices, causedBy: [...logins, 'user.register.push'] }),
  'user.device_removed': event({ ...toDevices, causedBy: [...logins, 'user.device.remove'] }),
  /** The list of devices shows another user agent or platform for the device. */
  'user.device_updated': event({ ...toDevices, causedBy: [...logins, 'session.open'] }),
}
