/** Replaces what differs between two runs in recorded calls: IDs, times, tokens and made-up names. */
import { exampleUserId } from '@hermod/protocol/openapi'
import type { Json } from '@hermod/testkit'

const idStep = 65_536
const recordedAt = Date.UTC(2026, 11, 1, 9)
const yearMs = 366 * 86_400_000
const hourMs = 3_600_000
const names = ['carol', 'dave', 'erin', 'frank', 'grace', 'heidi', 'ivan', 'judy']
const fileId = '7qwta9ep5zhksdh3s6yvjrep5'
const entriesShown = 2
/** Texts of tests, as examples show them. */
const words: Readonly<Record<string, string>> = {
  test: 'chat',
  there: 'shop',
  walk: 'backend',
  walker: 'Alice',
  walking: 'Hikers',
  Walkers: 'Hikers',
  'walk-link': 'https://issuer.example',
  'walk-secret': 'secret-of-the-gateway',
}
/** Members whose texts are random or secret. */
const secretMember =
  /(?:^|_)(?:token|secret|cursor|key_secret|public_key|sign|qr_info|qr_text|ticket|assertion|signature|next|pos|epoch|fingerprint)$/
/** Members that count or list undelivered things, which differ from moment to moment. */
const racingMember = /^(?:webhook_events|behind|waiting)$/
const keyMember = /key_id$/
/** Numbers that differ from run to run, by their members. */
const measured: Readonly<Record<string, number>> = { duration_ms: 2, database_bytes: 835_584 }

export interface ScrubOptions {
  readonly now: number
  /** IDs that are equal in all examples, in the order of their replacements. */
  readonly ids: readonly number[]
  /** Texts to replace wherever they are. */
  readonly texts: readonly (readonly [string, string])[]
}

/** Scrubs the parts of one example; equal values have equal replacements. */
export function scrubber({ now, ids, texts }: ScrubOptions): (value: Json) => Json {
  const idsSeen = [...ids]
  const namesSeen: string[] = []
  const filesSeen: string[] = []

  function place<T>(list: T[], value: T): number {
    const at = list.indexOf(value)
    return at < 0 ? list.push(value) - 1 : at
  }

  function scrubNumber(value: number): number {
    if (Math.abs(value - now) < yearMs)
      return recordedAt + Math.round((value - now) / hourMs) * hourMs
    if (Math.abs(value * 1000 - now) < yearMs)
      return recordedAt / 1000 + Math.round((value - now / 1000) / 3600) * 3600
    return value < 2 ** 48 ? value : exampleUserId + place(idsSeen, value) * idStep
  }

  function scrubText(text: string): string {
    const known = texts.reduce((changed, [from, to]) => changed.replaceAll(from, to), text)
    return (words[known] ?? known)
      .replace(/\b(?:walk|stranger|guid)_[0-9a-z]+_\d+\b/g, (name) => {
        const at = place(namesSeen, name)
        return names[at] ?? `user${at}`
      })
      .replace(/\bhm([a-z])_[\w.-]+/g, 'hm$1_example')
      .replace(/\b(ticket|file_sign|sign)=[\w.%-]+/g, '$1=example')
      .replace(/\b(app-|guest_|user_)[0-9a-z]{10}\b/g, '$1k3w9f2m7qx')
      .replace(/\b[0-9a-hjkmnp-tv-z]{26}\b/g, (id) => `${fileId}${place(filesSeen, id)}`)
      .replace(/https:\/\/127\.0\.0\.1:\d+/g, 'https://push.example.com')
      .replace(/(\/push\/receipts\/\w+\/)[\w.-]+/g, '$1example')
      .replace(/\b[0-9a-f]{64}\b/g, 'c6ab9e33'.repeat(8))
      .replace(/\d{8}T\d{6}Z-\w{6}/g, '20261201T090000Z-k3w9f2')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, new Date(recordedAt).toISOString())
      .replace(/\d{13,16}/g, (digits) => String(scrubNumber(Number(digits))))
  }

  function scrub(value: Json, member = ''): Json {
    if (racingMember.test(member)) return Array.isArray(value) ? [] : 0
    if (Array.isArray(value)) return value.slice(0, entriesShown).map((entry) => scrub(entry))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, each]) => [name, scrub(each, name)]),
      )
    if (typeof value === 'number') return measured[member] ?? scrubNumber(value)
    if (typeof value !== 'string') return value
    if (keyMember.test(member) && value !== '') return 'zpHi7uWl'
    if (member === 'mobile' && value !== '') return '+14155550123'
    if (member === 'password' && value.length === 20) return 'made-by-the-service1'
    const isSecret =
      secretMember.test(member) &&
      member !== 'hmac_secret' &&
      value.length > 12 &&
      !value.startsWith('http')
    if (isSecret && !/^hm[a-z]_/.test(value)) return `example-${member.replaceAll('_', '-')}`
    return scrubText(value)
  }
  return (value) => scrub(value)
}
