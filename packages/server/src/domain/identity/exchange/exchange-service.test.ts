/** The limit of new users of an issuer. */
import { expect, it } from 'vitest'
import type { AssertionService } from '../assertions/assertion-service.js'
import type { SubjectRequest, SubjectTokens } from '../subject-tokens.js'
import { ExchangeService } from './exchange-service.js'

const settings = { create: 'first_login', session: 'own', usernameClaim: '' }
const accepted = {
  issuer: { appId: 'app', issuer: 'issuer', settings },
  claims: { subject: '1', issuedAt: 1, expiresAt: 2, payload: {} },
}

/** Exchanges an assertion, and returns how much of the limit is used after it. */
async function used(give: (request: SubjectRequest) => boolean): Promise<number> {
  let taken = 0
  const exchanges = new ExchangeService({
    assertions: { accept: async () => accepted } as unknown as AssertionService,
    subjectTokens: {
      give: async (request: SubjectRequest) => ({ token: {}, created: give(request) }),
    } as unknown as SubjectTokens,
    newUsers: {
      take() {
        taken++
        return 0
      },
      giveBack: () => taken--,
    },
    clock: { now: () => 1 },
    tokenLifeMs: 1,
  })
  await exchanges.exchange({ appId: 'app', assertion: '', address: '' })
  return taken
}

it('counts the user that a call makes, and none that another call made first', async () => {
  const create = ({ create }: SubjectRequest) => expect(create?.()).toBeDefined()
  const makes = (request: SubjectRequest) => {
    create(request)
    return true
  }
  const isSecond = (request: SubjectRequest) => {
    create(request)
    return false
  }
  const triesTwice = (request: SubjectRequest) => {
    create(request)
    return makes(request)
  }
  expect(await used(makes)).toBe(1)
  expect(await used(isSecond)).toBe(0)
  expect(await used(triesTwice)).toBe(1)
})
