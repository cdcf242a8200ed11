import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Histories } from '../../db/identity/histories.js'
import { appIdPattern } from '../apps/app-model.js'
import { EventIds } from './event-ids.js'

const first = 'first'
/** IDs of applications look as much like other parts of an ID as they may. */
const appIds = fc
  .array(fc.constantFrom('a', '1', '_', '_1', 'missed', '-'), { minLength: 2, maxLength: 6 })
  .map((parts) => parts.join('').slice(0, 32))
  .filter((appId) => appIdPattern.test(appId))
const events = fc.record({
  appId: appIds,
  epoch: fc.oneof(fc.constant(first), fc.uuid()),
  position: fc.integer({ min: 1, max: 200 }),
  name: fc.constantFrom('', '1', '11', '1538674237210624', 'missed'),
})

interface SampleEvent {
  readonly appId: string
  readonly epoch: string
  readonly position: number
  readonly name: string
}

function idOf({ appId, epoch, position, name }: SampleEvent): string {
  const histories = new Histories({ first, current: epoch, rows: [] })
  return new EventIds(histories).of(appId, { position, name })
}

it('IDs of the first history are the application, the position and the name', () => {
  fc.assert(
    fc.property(events, ({ appId, position, name }) => {
      const id = idOf({ appId, epoch: first, position, name })
      expect(id).toBe(`evt_${appId}_${position}${name && `_${name}`}`)
      expect(id).not.toMatch(/[A-Z]/)
    }),
  )
})

it('IDs of later histories can be taken apart, so no other event has them, whatever its application is called', () => {
  fc.assert(
    fc.property(
      events.filter(({ epoch }) => epoch !== first),
      (event) => {
        const [, appId, mark, position, name = ''] =
          /^evt_([a-z0-9_-]+)_([A-Z]{6})_(\d+)(?:_([a-z0-9]+))?$/.exec(idOf(event)) ?? []
        const { epoch: _, ...rest } = event
        expect({ appId, position: Number(position), name }).toEqual(rest)
        expect(mark).toBe(idOf({ ...event, appId: 'xx' }).split('_')[2])
      },
    ),
  )
})
