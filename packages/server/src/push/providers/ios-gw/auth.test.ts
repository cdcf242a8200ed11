import { generateKeyPairSync, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { GatewayCertificate } from '../../certificate.js'
import { type GatewayToken, isIssued } from '../runtime/auth-cache.js'
import { iosAuth } from './auth.js'
import { readIosCredentials } from './credentials.js'

const minuteMs = 60_000
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const certificate: GatewayCertificate = {
  channel: 'ios_gw',
  environment: 'production',
  appId: 'com.example.app',
  appKey: 'KEY1234567',
  appSecret: 'TEAM123456',
  certificate: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
}
const credentials = readIosCredentials(certificate)

async function issue(minutes: number, refused: GatewayToken | null = null): Promise<GatewayToken> {
  const context = { credentials, certificate, part: '', call: neverCalled, refused }
  const token = await iosAuth.issue({ ...context, now: minutes * minuteMs })
  if (!isIssued(token)) throw new Error(token.reason)
  return token
}

function neverCalled(): never {
  throw new Error('tokens are signed here')
}

function partOf(token: GatewayToken, index: number) {
  return JSON.parse(Buffer.from(token.value.split('.')[index] ?? '', 'base64url').toString())
}

function timeOf(token: GatewayToken): number {
  return partOf(token, 1).iat / 60
}

describe('tokens of ios_gw', () => {
  it('name key and team, and are signed as the gateway checks them', async () => {
    const token = await issue(0)
    const [head, body, signature = ''] = token.value.split('.')
    expect(partOf(token, 0)).toEqual({ alg: 'ES256', kid: 'KEY1234567', typ: 'JWT' })
    expect(partOf(token, 1)).toEqual({ iss: 'TEAM123456', iat: 0 })
    const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const }
    const signed = Buffer.from(`${head}.${body}`)
    expect(verify('sha256', signed, key, Buffer.from(signature, 'base64url'))).toBe(true)
  })

  it('show the same time in all processes, which change it together', async () => {
    const tokens = await Promise.all([36, 40, 55, 71].map((at) => issue(at)))
    expect(tokens.map(timeOf)).toEqual([36, 36, 36, 36])
    expect(tokens.map(({ refreshAt }) => refreshAt / minuteMs)).toEqual([72, 72, 72, 72])
  })

  it('are not made again within 20 minutes, whatever the gateway says', async () => {
    const token = await issue(40)
    await expect(issue(59, token)).rejects.toThrow('check the clock')
  })

  it('are made 20 minutes apart and never used when they are an hour old, also after they were refused', async () => {
    for (let first = 0; first < 36; first++)
      for (let wait = 20; wait < 60; wait++) {
        const token = await issue(first)
        const second = await issue(first + wait, token)
        const third = await issue(second.refreshAt / minuteMs)
        const times = [token, second, third].map(timeOf)
        const [a = 0, b = 0, c = 0] = times
        expect(Math.min(b - a, c - b), times.join()).toBeGreaterThanOrEqual(20)
        for (const each of [token, second, third])
          expect(each.refreshAt / minuteMs - timeOf(each)).toBeLessThan(60)
      }
  })
})
