/** What clients ask about the application itself, and what the operator does. */
import * as api from '@hermod/protocol'
import { type Fixture, fixture, type GroupContext } from './walk-fixture.js'

const hereAsApp = ({ world }: GroupContext) => ({ app_id: world.here.appId })
const subjectHere = (scene: GroupContext) => ({ ...hereAsApp(scene), user_id: scene.subject.id })
const victim = { needsVictim: true }

export const operatorFixtures: readonly Fixture[] = [
  fixture(api.getAppFlags, { platform: 1 }),
  fixture(api.checkUsername, ({ world }) => ({ username: world.newName() })),

  fixture(api.createApp),
  fixture(api.listApps),
  fixture(api.updateApp, ({ world }) => ({ app_id: world.there.appId, name: 'There' })),
  fixture(api.createAdminToken, (scene) => ({ ...hereAsApp(scene), name: 'walk' })),
  fixture(api.listAdminTokens, hereAsApp),
  fixture(api.revokeAdminToken, async (scene) => {
    const made = await scene.world.prepare(api.createAdminToken, scene.world.operator, {
      ...hereAsApp(scene),
      name: 'walk',
    })
    return { ...hereAsApp(scene), token_id: made?.data.token_id ?? 0 }
  }),
  fixture(api.checkIntegrity),
  fixture(api.rotateSecretKey),
  fixture(api.retireSecretKey),
  fixture(api.createUser, (scene) => ({ ...hereAsApp(scene), username: scene.world.newName() })),
  fixture(api.importUsers, (scene) => ({
    ...hereAsApp(scene),
    users: [{ username: scene.world.newName() }],
  })),
  fixture(api.exportUsers, (scene) => ({ ...hereAsApp(scene), limit: 5 })),
  ...[api.disableUser, api.enableUser, api.deleteUserByOperator, api.resetUserPassword].map(
    (operation) => fixture(operation, subjectHere, victim),
  ),
]
