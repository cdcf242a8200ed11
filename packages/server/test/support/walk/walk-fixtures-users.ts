/** Tokens, users, their settings and devices. */
import * as api from '@hermod/protocol'
import { buildAssertion, hmacSigner, sharedSecret } from '../assertions/builder.js'
import { mobileOf } from '../contacts.js'
import { asSubject, type Fixture, fixture, type WalkContext } from './walk-fixture.js'
import type { WalkWorld } from './walk-world.js'

const firstDevice = 1
const newPassword = 'another horse'
const tag = { tags: ['walk'] }
const victim = { needsVictim: true }

const credentials = ({ world, subject }: WalkContext) => ({
  username: world.newName(),
  password: subject.password,
})
const identity = ({ world }: WalkContext) => ({ issuer: 'walk', subject: world.newName() })
/** An assertion of an issuer of the application, for a subject that no user has. */
export async function assertionIn(world: WalkWorld): Promise<string> {
  const issuer = {
    app_id: world.here.appId,
    issuer: 'walk-link',
    hmac_secret: sharedSecret,
    create: 'first_login',
  }
  await world.prepare(api.setIdentityIssuer, world.operator, issuer)
  const iat = Math.floor(Date.now() / 1000)
  return buildAssertion({
    header: { alg: 'HS256' },
    payload: { iss: issuer.issuer, sub: world.newName(), iat, exp: iat + 60 },
    signer: hmacSigner(sharedSecret),
  })
}
const asserted = async ({ world, subject }: WalkContext) => ({
  assertion: await assertionIn(world),
  password: subject.password,
})
const subjectAsList = ({ subject }: WalkContext) => ({ list: [subject.id] })

export const userFixtures: readonly Fixture[] = [
  fixture(api.issueTokenById, ({ subject: { id, password } }) => ({ user_id: id, password })),
  fixture(api.issueTokenByLogin, ({ subject: { username, password } }) => ({
    login_name: username,
    password,
  })),
  fixture(api.issueTokenByUsername, ({ subject: { username, password } }) => ({
    name: username,
    password,
  })),
  fixture(api.issueToken, (context) => ({ ...identity(context), create: {} })),
  fixture(api.exchangeToken, async ({ world }) => ({ assertion: await assertionIn(world) })),
  fixture(api.revokeTokens, ({ subject: { id } }) => ({ user_id: id }), victim),
  fixture(api.listIdentities),
  fixture(api.linkIdentity, asserted, victim),
  fixture(
    api.unlinkIdentity,
    async (context) => {
      const linked = identity(context)
      const { subject } = context
      await context.world.prepare(api.linkIdentity, asSubject(context), linked)
      return { ...linked, password: subject.password }
    },
    victim,
  ),

  fixture(api.registerUser, credentials),
  fixture(api.registerUserForPush, (context) => {
    const unique = () => context.world.newName()
    return { ...credentials(context), alias: unique(), device_guid: unique(), push_token: unique() }
  }),
  fixture(api.registerUsers, (context) => ({ list: [credentials(context)] })),
  fixture(api.registerAnonymousUser, ({ subject }) => ({
    username: 'guest',
    password: subject.password,
    cid: subject.id,
  })),
  fixture(api.listUsers, { page_size: 5 }),
  fixture(api.findUsers, ({ subject }) => ({ user_ids: [subject.id] })),
  fixture(api.disableUsers, subjectAsList, victim),
  fixture(api.enableUsers, subjectAsList, victim),
  fixture(api.deleteUser, ({ subject: { password } }) => ({ password }), victim),
  fixture(
    api.changePassword,
    ({ subject }) => ({ old_password: subject.password, new_password: newPassword }),
    victim,
  ),
  fixture(api.changePasswordAsAdmin, { password: newPassword }, victim),
  fixture(api.getProfile, ({ subject }) => ({ user_id: subject.id })),
  fixture(api.updateProfile, { nick_name: 'walker' }),
  fixture(api.updateProfiles, ({ subject }) => ({
    list: [{ user_id: subject.id, nick_name: 'walker' }],
  })),
  fixture(api.setAvatar, { avatar: 'https://example.org/a.png' }),
  fixture(api.updateAvatars, ({ subject }) => ({
    list: [{ user_id: subject.id, avatar: 'https://example.org/a.png' }],
  })),
  fixture(api.setNickname, { nick_name: 'walker' }),
  fixture(api.setMobile, ({ subject }) => ({ mobile: mobileOf(subject.id) })),
  fixture(api.setEmail, ({ subject }) => ({ email: `u${subject.id}@example.org` })),
  fixture(api.setUsername, ({ world }) => ({ username: world.newName() }), victim),
  fixture(api.setPrivateInfo, { value: 'mine' }),
  fixture(api.setPublicInfo, { value: 'ours' }),

  fixture(api.getSettings),
  fixture(api.updateSettings, ({ subject }) => ({ user_id: subject.id, no_sounds: true })),
  fixture(api.setAuthMode, { value: 1 }),
  fixture(api.setAutoDownload, { value: true }),
  fixture(api.setPushOff, { value: true }),
  fixture(api.setPushDetailOff, { value: true }),
  fixture(api.setSoundsOff, { value: true }),
  fixture(api.setVibration, { value: true }),
  fixture(api.setStrangerChat, { value: 1 }),
  fixture(api.setPushNickname, { value: 'walker' }),
  fixture(api.setPushQuietHours, { no_push_start_hour: 22, no_push_end_hour: 7 }),
  fixture(api.setPushAlias, ({ world }) => ({ alias: world.newName() })),
  fixture(api.setPushBadge, { badge: 3 }),
  fixture(api.listPushTags),
  fixture(api.addPushTags, tag),
  fixture(api.removePushTags, tag),
  fixture(api.clearPushTags),

  fixture(api.listDevices),
  fixture(api.removeDevice, { device_sn: firstDevice }, victim),
  fixture(api.kickDevices, { device_sn: firstDevice }, victim),
  fixture(api.bindPushToken, ({ world }) => ({
    device_sn: firstDevice,
    device_token: world.newName(),
    notifier_name: 'walk',
  })),
  fixture(api.unbindPushToken, async (context) => {
    const binding = {
      device_sn: firstDevice,
      device_token: context.world.newName(),
      notifier_name: 'walk',
    }
    await context.world.prepare(api.bindPushToken, asSubject(context), binding)
    return { deviceSn: firstDevice }
  }),
  fixture(api.getOnlineStatus),
  fixture(api.subscribePresence, ({ friend }) => ({ user_ids: [friend.id] })),
]
