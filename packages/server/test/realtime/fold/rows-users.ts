/** Users, their settings and devices, and contacts. */
import * as api from '@hermod/protocol'
import { sharedPassword } from '@hermod/testkit'
import { mobileOf } from '../../support/contacts.js'
import { issuerCalls } from '../../support/issuers.js'
import { type Cast, newName } from './cast.js'
import { byApp, byAppForActor, byOperator, type Row, row } from './row.js'

const tags = { tags: ['fold'] }
/** The actor's other device. */
const tabletSn = 2
const newPassword = 'another horse'

/** Makes another device of the actor. @returns its number */
async function anotherDevice({
  server,
  phone,
}: Cast): Promise<{ device_sn: number; guid: string }> {
  const guid = newName('guid')
  await server.api.login(phone, guid)
  const { data } = await phone.api.succeed('GET', '/user/device/list')
  return { device_sn: Math.max(...data.map((each: { device_sn: number }) => each.device_sn)), guid }
}

const withTags = async (cast: Cast) => {
  await cast.given(api.addPushTags, tags)
  return tags
}

const newIdentity = () => ({ issuer: 'fold', subject: newName() })

const login = (name: string) => (cast: Cast) => ({
  [name]: name === 'user_id' ? cast.actor : cast.phone.username,
  password: sharedPassword,
  device_guid: newName('guid'),
})

export const userRows: readonly Row[] = [
  row(api.setNickname, () => ({ nick_name: newName() })),
  row(api.setAvatar, () => ({ avatar: `https://example.org/${newName()}.png` })),
  row(api.setMobile, ({ actor }) => ({ mobile: mobileOf(actor) })),
  row(api.setEmail, ({ actor }) => ({ email: `u${actor}@example.org` })),
  row(api.setPrivateInfo, () => ({ value: newName() })),
  row(api.setPublicInfo, () => ({ value: newName() })),
  row(api.updateProfile, () => ({ description: newName() })),
  row(api.updateProfiles, ({ actor }) => ({ list: [{ user_id: actor, nick_name: newName() }] })),
  row(api.updateAvatars, ({ actor }) => ({
    list: [{ user_id: actor, avatar: `https://example.org/${newName()}.png` }],
  })),
  row(
    api.importUsers,
    ({ server, phone }) => ({
      app_id: server.appId,
      update: true,
      users: [{ username: phone.username, nick_name: newName() }],
    }),
    { by: byOperator },
  ),

  row(api.updateSettings, ({ actor }) => ({ user_id: actor, silence_start_time: 3 })),
  row(api.setAuthMode, { value: 3 }),
  row(api.setAutoDownload, { value: true }),
  row(api.setPushOff, { value: true }),
  row(api.setPushDetailOff, { value: true }),
  row(api.setSoundsOff, { value: true }),
  row(api.setVibration, { value: true }),
  row(api.setStrangerChat, { value: 1 }),
  row(api.setPushNickname, { value: 'fold' }),
  row(api.setPushQuietHours, { no_push_start_hour: 22, no_push_end_hour: 7 }),
  row(api.addPushTags, tags),
  row(api.removePushTags, withTags),
  row(api.clearPushTags, async (cast) => {
    await withTags(cast)
    return {}
  }),
  row(api.setPushAlias, () => ({ alias: newName() })),
  row(api.setPushBadge, { badge: 3 }),
  row(api.bindPushToken, () => ({ device_sn: 1, device_token: newName(), notifier_name: 'fold' })),
  row(api.unbindPushToken, async (cast) => {
    const binding = { device_sn: 1, device_token: newName(), notifier_name: 'fold' }
    await cast.given(api.bindPushToken, binding)
    return { deviceSn: 1 }
  }),

  row(api.issueTokenById, login('user_id')),
  row(api.issueTokenByLogin, login('login_name')),
  row(api.issueTokenByUsername, login('name')),
  row(
    api.issueTokenById,
    async (cast) => {
      const { guid } = await anotherDevice(cast)
      return { user_id: cast.actor, password: sharedPassword, device_guid: guid }
    },
    { as: 'on a known device' },
  ),
  row(api.issueToken, ({ actor }) => ({ user_id: actor, device_guid: newName('guid') }), {
    by: byApp,
  }),
  row(
    api.issueToken,
    async (cast) => ({
      user_id: cast.actor,
      device_guid: (await anotherDevice(cast)).guid,
      user_agent: newName(),
    }),
    { by: byApp, as: 'on a known device' },
  ),
  row(api.exchangeToken, async (cast) => {
    const { assertionOf, newIssuer } = issuerCalls(cast.server)
    const identity = { issuer: await newIssuer(), subject: newName() }
    await cast.given(api.linkIdentity, identity)
    // After the logins of the actor that an earlier row has ended.
    const iat = Math.floor(cast.server.clock.now() / 1000) + 2
    return {
      assertion: assertionOf(identity.issuer, identity.subject, { iat }),
      device_guid: newName('guid'),
    }
  }),
  row(api.linkIdentity, newIdentity, { by: byAppForActor }),
  row(
    api.unlinkIdentity,
    async (cast) => {
      const identity = newIdentity()
      await cast.given(api.linkIdentity, identity)
      return identity
    },
    { by: byAppForActor },
  ),
  row(
    api.revokeTokens,
    async (cast) => ({ user_id: cast.actor, device_sn: (await anotherDevice(cast)).device_sn }),
    { by: byApp, as: 'of another device' },
  ),
  row(api.removeDevice, async (cast) => ({ device_sn: (await anotherDevice(cast)).device_sn })),
  row(api.kickDevices, async (cast) => ({ device_sn: (await anotherDevice(cast)).device_sn })),

  row(api.registerUser, () => ({ username: newName(), password: sharedPassword })),
  row(api.registerUserForPush, () => ({
    username: newName(),
    password: sharedPassword,
    device_guid: newName('guid'),
    push_token: newName(),
  })),
  row(api.registerUsers, () => ({ list: [{ username: newName(), password: sharedPassword }] }), {
    by: byApp,
  }),
  row(api.registerAnonymousUser, async (cast) => {
    await cast.given(api.setAuthMode, { value: 1 }, cast.member)
    return { username: newName(), password: sharedPassword, cid: cast.member }
  }),
  row(api.createUser, ({ server }) => ({ app_id: server.appId, username: newName() }), {
    by: byOperator,
  }),
  row(
    api.updateApp,
    ({ server }) => ({ app_id: server.appId, settings: { system_name: newName() } }),
    { by: byOperator },
  ),
  // Last: other rows log in by the username.
  row(api.setUsername, () => ({ username: newName() })),
]

/** Rows that end the actor's session; each has a separate cast. */
export const endingRows: readonly Row[] = [
  row(api.deleteUser, { password: sharedPassword }, { endsActor: 'userDeleted' }),
  row(
    api.deleteUser,
    async (cast) => {
      for (const actor of ['owner', 'member'] as const) {
        const group = await cast.group({ actor })
        await cast.message(group, cast.actor, { type: 2 })
      }
      await cast.message(cast.friend)
      return { password: sharedPassword }
    },
    { endsActor: 'userDeleted', as: 'with groups and messages' },
  ),
  row(api.deleteUserByOperator, ({ server, actor }) => ({ app_id: server.appId, user_id: actor }), {
    by: byOperator,
    endsActor: 'userDeleted',
  }),
  row(api.disableUsers, ({ actor }) => ({ list: [actor] }), {
    by: byApp,
    endsActor: 'userDisabled',
  }),
  row(api.disableUser, ({ server, actor }) => ({ app_id: server.appId, user_id: actor }), {
    by: byOperator,
    endsActor: 'userDisabled',
  }),
  row(
    api.changePassword,
    { old_password: sharedPassword, new_password: newPassword },
    { endsActor: 'tokenRevoked' },
  ),
  row(
    api.changePasswordAsAdmin,
    { password: newPassword },
    { by: byAppForActor, endsActor: 'tokenRevoked' },
  ),
  row(api.resetUserPassword, ({ server, actor }) => ({ app_id: server.appId, user_id: actor }), {
    by: byOperator,
    endsActor: 'tokenRevoked',
  }),
  row(api.revokeTokens, ({ actor }) => ({ user_id: actor }), {
    by: byApp,
    endsActor: 'kicked',
  }),
  row(api.kickDevices, {}, { endsActor: 'kicked', as: 'on all devices' }),
  row(api.kickDevices, { device_sn: tabletSn }, { endsActor: 'kicked', as: 'on the other device' }),
  row(api.removeDevice, { device_sn: tabletSn }, { endsActor: 'kicked', as: 'in use' }),
]

/** The member and the actor know nothing of each other, and the member must agree to be a contact. */
async function strangers(cast: Cast): Promise<{ user_id: number }> {
  const { actor, member } = cast
  for (const [one, other] of [
    [actor, member],
    [member, actor],
  ] as const) {
    await cast.given(api.setAuthMode, { value: 1 }, one)
    const by = { token: cast.server.adminToken, userId: one }
    for (const operation of [api.declineContact, api.deleteContact, api.unblockUser])
      await cast.call(operation, { user_id: other }, by)
  }
  return { user_id: member }
}

async function applied(cast: Cast): Promise<{ user_id: number }> {
  await strangers(cast)
  await cast.given(api.applyToContact, { user_id: cast.actor }, cast.member)
  return { user_id: cast.member }
}

async function blocked(cast: Cast): Promise<{ user_id: number }> {
  await strangers(cast)
  await cast.given(api.blockUser, { user_id: cast.member })
  return { user_id: cast.member }
}

async function contacts(cast: Cast): Promise<{ user_id: number }> {
  const { user_id } = await strangers(cast)
  await cast.given(api.addContacts, { list: [user_id] })
  return { user_id }
}

const withWords = { alias: 'them', reason: 'hello' }

export const contactRows: readonly Row[] = [
  row(api.applyToContact, async (cast) => ({ ...(await strangers(cast)), ...withWords })),
  row(api.applyToContacts, async (cast) => ({
    list: [{ ...(await strangers(cast)), ...withWords }],
  })),
  row(
    api.applyToContact,
    async (cast) => {
      const { user_id } = await strangers(cast)
      await cast.given(api.setAuthMode, { value: 0 }, user_id)
      return { user_id }
    },
    { as: 'to a user who agrees to all' },
  ),
  row(api.applyToContact, applied, { as: 'to a user who has applied' }),
  row(api.acceptContact, applied),
  row(api.declineContact, async (cast) => ({ ...(await applied(cast)), reason: 'no' })),
  row(api.deleteContact, contacts),
  row(api.updateContact, async (cast) => ({
    ...(await contacts(cast)),
    alias: newName(),
    ext: 'noted',
  })),
  row(api.updateContact, async (cast) => ({ ...(await contacts(cast)), mute_notification: true }), {
    as: 'to mute',
  }),
  row(
    api.updateContact,
    async (cast) => {
      const contact = await contacts(cast)
      await cast.given(api.updateContact, { ...contact, mute_notification: true })
      return { ...contact, mute_notification: false }
    },
    { as: 'to unmute' },
  ),
  row(api.blockUser, strangers),
  row(api.blockUser, contacts, { as: 'a contact' }),
  row(api.unblockUser, blocked),
  row(api.addContacts, async (cast) => ({ list: [(await strangers(cast)).user_id] }), {
    by: byAppForActor,
  }),
]
