import { type ErrorEntry, errorCatalogue } from '@hermod/protocol'
import { afterEach, expect, it, vi } from 'vitest'
import { failureNames, logIn, register } from './log-in.js'

const service = { url: 'https://chat.example/', appId: 'app' }
const credentials = { username: 'alice', password: 'secret' }
const record = {
  user_id: 7,
  token: 'token',
  expire: 99,
  store_token: 'store',
  access_key_secret: 'key',
  encrypt_type: 0,
  public_key: '',
}

afterEach(() => {
  vi.unstubAllGlobals()
})

/** Answers the next request. @returns the requests */
function stubFetch(answer: unknown) {
  const requests: { url: string; body: unknown; headers: unknown }[] = []
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    init.signal?.throwIfAborted()
    requests.push({ url, body: JSON.parse(String(init.body)), headers: init.headers })
    if (answer instanceof Error) throw answer
    return { json: async () => JSON.parse(String(answer)) }
  })
  return requests
}

function envelope(data: unknown, code = 200, message: string | null = null) {
  return JSON.stringify({ code, data, message })
}

it('logIn: by username, by any login name, and by ID', async () => {
  const requests = stubFetch(envelope({ ...record, push_token: 'push' }))
  const expected = {
    userId: 7,
    token: 'token',
    expiresAt: 99,
    storeToken: 'store',
    accessKeySecret: 'key',
    pushToken: 'push',
  }
  expect(await logIn(service, { ...credentials, deviceGuid: 'phone' })).toEqual(expected)
  await logIn(service, { login: 'a@b.example', password: 'secret' })
  await logIn(service, { userId: 7, password: 'secret' })
  const password = 'secret'
  expect(requests.map(({ url, body }) => [url, body])).toEqual([
    ['https://chat.example/token/user', { name: 'alice', password, device_guid: 'phone' }],
    ['https://chat.example/token/login', { login_name: 'a@b.example', password }],
    ['https://chat.example/token/id', { user_id: 7, password }],
  ])
  expect(requests[0]?.headers).toMatchObject({ app_id: 'app' })
})

it('register: answers the ID of the user', async () => {
  const requests = stubFetch(envelope({ user_id: 8 }))
  expect(await register(service, credentials)).toBe(8)
  expect(requests[0]).toMatchObject({
    url: 'https://chat.example/user/register/v2',
    body: credentials,
  })
})

it('logIn: failures of the server have their name and code', async () => {
  const { code, text } = errorCatalogue.password_incorrect
  stubFetch(envelope(null, code, text))
  await expect(logIn(service, credentials)).rejects.toMatchObject({
    code,
    name: 'password_incorrect',
    message: text,
    retry: false,
  })
  stubFetch(envelope(null, 12_345, 'new'))
  await expect(logIn(service, credentials)).rejects.toMatchObject({
    code: 12_345,
    name: 'refused',
  })
})

it('logIn: the names of failures are those of the server, and so is whether to try again', async () => {
  const catalogue: Readonly<Record<string, ErrorEntry>> = errorCatalogue
  for (const [code, name] of Object.entries(failureNames)) {
    expect(catalogue).toHaveProperty([name, 'code'], Number(code))
    stubFetch(envelope(null, Number(code), 'text'))
    const retry = catalogue[name]?.retryable
    await expect(logIn(service, credentials)).rejects.toMatchObject({ name, retry })
  }
})

it.each([
  ['no JSON', '<html>'],
  ['no envelope', '[]'],
  ['null', 'null'],
  ['no token', envelope({ user_id: 7 })],
  ['no data', envelope(null)],
])('logIn: an answer that is %s is a bad answer', async (_name, answer) => {
  stubFetch(answer)
  await expect(logIn(service, credentials)).rejects.toMatchObject({ name: 'bad_answer' })
})

it('logIn: without the server, and after an abort', async () => {
  stubFetch(new TypeError('fetch failed'))
  await expect(logIn(service, credentials)).rejects.toMatchObject({
    name: 'not_connected',
    retry: true,
  })
  await expect(logIn(service, credentials, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'aborted',
  })
})

it('logIn: wrong arguments are named', async () => {
  const refused = async (promise: Promise<unknown>, name: string) =>
    expect(promise).rejects.toMatchObject({
      name: 'invalid_argument',
      message: expect.stringMatching(new RegExp(`^${name} must be`)),
    })
  await refused(logIn({ ...service, url: 'chat' }, credentials), 'url')
  await refused(logIn({ ...service, appId: '' }, credentials), 'appId')
  await refused(logIn(service, { ...credentials, password: '' }), 'password')
  await refused(logIn(service, { username: '', password: 'x' }), 'username')
  await refused(logIn(service, { userId: 0, password: 'x' }), 'userId')
  await refused(register(service, { username: 5 as never, password: 'x' }), 'username')
})
