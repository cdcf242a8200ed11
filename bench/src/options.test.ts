import { expect, test } from 'vitest'
import { parseOptions, UsageError } from './options.js'

test('without options everything is measured, on this build alone', () => {
  const options = parseOptions([])
  expect(options).toMatchObject({ against: null, only: null, seconds: 8, rounds: 2 })
  expect(options?.chosen.flat().map(({ name }) => name)).toContain('group-join')
})

test('scenarios are chosen by the name of their set', () => {
  const chosen = parseOptions(['--scenario', 'group-send,history'])?.chosen
  expect(chosen?.map((set) => set.map(({ name }) => name))).toEqual([
    ['history'],
    ['group-send-small', 'group-send-large'],
  ])
})

test('another build is named by its folder', () => {
  expect(parseOptions(['--against', '../other'])).toMatchObject({ against: '../other', starts: 3 })
})

test('growth keeps its rounds beside another build, unless their number is given', () => {
  const growth = ['--against', '../other', '--scenario', 'growth']
  expect(parseOptions(growth)).toMatchObject({ rounds: 2 })
  expect(parseOptions([...growth, '--rounds', '5'])).toMatchObject({ rounds: 5, starts: 5 })
})

test('growth is measured only when it is named', () => {
  expect(parseOptions([])?.growth).toBeNull()
  const options = parseOptions(['--scenario', 'growth', '--growth-steps', '0,5000'])
  expect(options).toMatchObject({ chosen: [], growth: { steps: [0, 5000], users: 10_000 } })
})

test('realtime is measured only when it is named', () => {
  expect(parseOptions([])?.realtime).toBeNull()
  const named = ['--scenario', 'realtime', '--devices', '300']
  expect(parseOptions(named)).toMatchObject({
    chosen: [],
    realtime: { devices: 300, conversations: 299 },
  })
  expect(() => parseOptions([...named.slice(0, -1), '10'])).toThrow('--devices')
})

test('the client is measured only when it is named', () => {
  expect(parseOptions([])?.client).toBeNull()
  const named = ['--scenario', 'client', '--conversations', '200', '--messages', '1000']
  expect(parseOptions(named)).toMatchObject({
    chosen: [],
    client: { conversations: 200, messages: 1000 },
  })
})

test('webhooks are measured only when they are named', () => {
  expect(parseOptions([])?.webhooks).toBeNull()
  const named = ['--scenario', 'webhooks', '--events', '5000']
  expect(parseOptions(named)).toMatchObject({ chosen: [], webhooks: { events: 5_000 } })
})

test('calls are counted only when they are named', () => {
  expect(parseOptions([])?.calls).toBeNull()
  const named = ['--scenario', 'calls', '--devices', '60']
  expect(parseOptions(named)).toMatchObject({ chosen: [], calls: { clients: 60 } })
})

test('pushes are measured only when they are named, in two parts', () => {
  expect(parseOptions([])?.push).toBeNull()
  const both = { devices: 20_000, crowdSize: 1_000_000 }
  expect(parseOptions(['--scenario', 'push'])).toMatchObject({ chosen: [], push: both })
  const crowd = ['--scenario', 'push', '--push-parts', 'crowd', '--crowd', '5']
  expect(parseOptions(crowd)?.push).toEqual({ devices: 0, crowdSize: 5 })
})

test('files are measured only when they are named', () => {
  expect(parseOptions([])?.files).toBe(false)
  expect(parseOptions(['--scenario', 'files'])).toMatchObject({ chosen: [], files: true })
})

test('what the options do not allow is refused', () => {
  for (const args of [
    ['--scenario', 'nothing'],
    ['--only', 'oracle'],
    ['--seconds', '0'],
    ['--seconds', '1.5'],
    ['--against'],
    ['--scenario', 'growth', '--growth-steps', '5,5'],
    ['--scenario', 'growth', '--growth-steps', '0,,5'],
    ['--scenario', 'growth', '--growth-users', '99'],
    ['--scenario', 'push', '--push-parts', 'half'],
    ['--scenario', 'push', '--push-devices', '0'],
    ['--scenario', 'client', '--conversations', '99'],
    ['--unknown'],
  ])
    expect(() => parseOptions(args), args.join(' ')).toThrow(UsageError)
})
