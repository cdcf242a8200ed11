import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../config/config.js'
import { CommandFailure, controlSocketPath, type OperatorCalls, openOperatorCalls } from './call.js'

const operatorToken = `hmo_${'x'.repeat(32)}`
const inProcess: OperatorCalls = {
  call: async () => ({ code: 200, data: 'in process', message: null }),
  isLocal: true,
  close: async () => {},
}

let dataDir: string
let server: Server | undefined
let requests: { line: string; token: string | undefined; body: string }[]

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'hermod-call-'))
  requests = []
})
afterEach(async () => {
  await new Promise((done) => (server ? server.close(done) : done(undefined)))
  server = undefined
  rmSync(dataDir, { recursive: true })
})

/** @returns the port, when it is one */
async function listen(where: ListenOptions, answer: string): Promise<number | undefined> {
  const started = createServer(async (request: IncomingMessage, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    requests.push({
      line: `${request.method} ${request.url}`,
      token: request.headers['access-token'] as string | undefined,
      body,
    })
    response.end(answer)
  })
  server = started
  await new Promise<void>((ready) => started.listen(where, ready))
  return (started.address() as AddressInfo).port
}

function open(url?: string, env: NodeJS.ProcessEnv = {}): Promise<OperatorCalls> {
  return openOperatorCalls(
    loadConfig({ HERMOD_DATA_DIR: dataDir, ...env }),
    async () => inProcess,
    url,
  )
}

describe('openOperatorCalls', () => {
  it('works in this process when no server uses the folder', async () => {
    expect(await open()).toBe(inProcess)
  })

  it.each(['a left-over file', 'a folder with a long name'])(
    'works in this process beside %s',
    async (what) => {
      if (what === 'a left-over file') writeFileSync(join(dataDir, 'control.sock'), '')
      else dataDir = join(dataDir, 'x'.repeat(200))
      expect(await open()).toBe(inProcess)
      if (what !== 'a left-over file') dataDir = join(dataDir, '..')
    },
  )

  it('fails, naming the socket, when it cannot tell whether a server uses the folder', async () => {
    const file = join(dataDir, 'file')
    writeFileSync(file, '')
    const opened = open(undefined, { HERMOD_DATA_DIR: file })
    await expect(opened).rejects.toBeInstanceOf(CommandFailure)
    await expect(opened).rejects.toThrow(/control\.sock cannot be connected to: .*ENOTDIR/)
  })

  it('goes through the control socket of the server that uses the folder, without a token', async () => {
    await listen(
      { path: controlSocketPath(dataDir) },
      '{"code":200,"data":[1],"message":null,"extra":true}',
    )
    const calls = await open(undefined, { HERMOD_OPERATOR_TOKEN: operatorToken })
    expect(await calls.call('operator.token.list', { app_id: 'a b', cursor: undefined })).toEqual({
      code: 200,
      data: [1],
      message: null,
    })
    await calls.call('operator.app.create', { app_id: 'demo', name: undefined })
    expect(requests).toEqual([
      { line: 'GET /operator/v1/token/list?app_id=a+b', token: undefined, body: '' },
      { line: 'POST /operator/v1/app/create', token: undefined, body: '{"app_id":"demo"}' },
    ])
  })

  it('goes to a URL with the operator token', async () => {
    const port = await listen(
      { port: 0, host: '127.0.0.1' },
      '{"code":10008,"data":null,"message":"access-token is invalid"}',
    )
    const calls = await open(`http://127.0.0.1:${port}/im/`, {
      HERMOD_OPERATOR_TOKEN: operatorToken,
    })
    expect(await calls.call('operator.check', {})).toMatchObject({
      code: 10008,
      message: 'access-token is invalid',
    })
    expect(requests).toEqual([
      { line: 'POST /im/operator/v1/check', token: operatorToken, body: '{}' },
    ])
  })

  it('refuses a URL without a token and what is no URL', async () => {
    await expect(open('http://127.0.0.1:1')).rejects.toThrow(
      '--url needs the operator token of that server in HERMOD_OPERATOR_TOKEN',
    )
    await expect(
      open('chat.example.org', { HERMOD_OPERATOR_TOKEN: operatorToken }),
    ).rejects.toThrow('--url must be an http or https URL')
  })

  it('says so when the other side is not there or no Hermod server', async () => {
    const gone = await open('http://127.0.0.1:1', { HERMOD_OPERATOR_TOKEN: operatorToken })
    await expect(gone.call('operator.check', {})).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:1 cannot be reached: connect ECONNREFUSED/,
    )
    const port = await listen({ port: 0, host: '127.0.0.1' }, '<html>')
    const stranger = await open(`http://127.0.0.1:${port}`, {
      HERMOD_OPERATOR_TOKEN: operatorToken,
    })
    const failure = stranger.call('operator.check', {})
    await expect(failure).rejects.toBeInstanceOf(CommandFailure)
    await expect(failure).rejects.toThrow(
      'answered HTTP 200 and no envelope; is it a Hermod server?',
    )
  })
})
