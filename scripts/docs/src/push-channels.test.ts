import { pushChannels } from '@hermod/protocol'
import { expect, it } from 'vitest'
import { withPushChannels } from './push-channels.js'

const table = '| Channel | Product |\n| --- | --- |\n| `ios_gw` | old |\n'

it('the table of the push guide names every channel once, and the rest of the guide stays', () => {
  const guide = withPushChannels(`# Push\n\n${table}\nMore.\n\n| Channel | Other |\n`)
  expect(guide).toMatch(/^# Push\n\n\| Channel/)
  expect(guide).toMatch(/\|\n\nMore\.\n\n\| Channel \| Other \|\n$/)
  for (const channel of pushChannels) expect(guide.split(`| \`${channel}\` |`)).toHaveLength(2)
  expect(withPushChannels(guide)).toBe(guide)
})

it('a push guide without the table is reported', () => {
  expect(() => withPushChannels('# Push\n')).toThrow('has no table')
})
