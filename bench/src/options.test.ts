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

test('some sets are measured only when they are named', () => {
  expect(parseOptions([])?.named).toEqual({})
  for (const [args, named] of [
    ['growth --growth-steps 0,5000', { growth: { steps: [0, 5000], users: 10_000 } }],
    ['realtime --devices 300', { realtime: { devices: 300, conversations: 299 } }],
    [
      'client --conversations 200 --messages 1000',
      { client: { conversations: 200, messages: 1000 } },
    ],
    ['webhooks --events 5000', { webhooks: { events: 5_000 } }],
    ['nodes --devices 600', { nodes: { devices: 600 } }],
    ['backup --backup-mb 1000', { backup: { megabytes: 1000 } }],
    ['reactions --devices 300', { reactions: { devices: 300 } }],
    ['streams --stream-devices 600', { streams: { devices: 600 } }],
    ['online --rounds 4', { online: { devices: 1_000, starts: 4 } }],
    ['online --online-parts sends,memory', { online: { parts: ['sends', 'memory'], starts: 3 } }],
    ['calls --devices 60', { calls: { clients: 60 } }],
    ['push', { push: { devices: 20_000, crowdSize: 1_000_000 } }],
    ['push --push-parts crowd --crowd 5', { push: { devices: 0, crowdSize: 5 } }],
    ['files,calls', { files: {}, calls: { clients: 5_000 } }],
  ] as const)
    expect(parseOptions(['--scenario', ...args.split(' ')]), args).toMatchObject({
      chosen: [],
      named,
    })
})

test('what the options do not allow is refused', () => {
  for (const args of [
    ['--scenario', 'nothing'],
    ['--only', 'oracle'],
    ['--seconds', '0'],
    ['--seconds', '1.5'],
    ['--against'],
    ['--scenario', 'growth', '--growth-steps', '5,5'],
    ['--scenario', 'realtime', '--devices', '10'],
    ['--scenario', 'growth', '--growth-steps', '0,,5'],
    ['--scenario', 'online', '--devices', '199'],
    ['--scenario', 'streams', '--stream-devices', '499'],
    ['--scenario', 'growth', '--growth-users', '99'],
    ['--scenario', 'push', '--push-parts', 'half'],
    ['--scenario', 'push', '--push-devices', '0'],
    ['--scenario', 'online', '--online-parts', 'sends,'],
    ['--scenario', 'client', '--conversations', '99'],
    ['--unknown'],
  ])
    expect(() => parseOptions(args), args.join(' ')).toThrow(UsageError)
})
