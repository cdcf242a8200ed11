/** Reading the log of events. */
import * as api from '@hermod/protocol'
import { asSubject, type Fixture, fixture, type WalkContext } from './walk-fixture.js'

/** @returns the cursor of a consumer that the subject's application has */
async function consumerCursor(context: WalkContext): Promise<string> {
  const params = { consumer: 'walk' }
  const read = await context.world.prepare(api.readEvents, asSubject(context), params)
  return read?.data.cursor ?? ''
}

export const eventFixtures: readonly Fixture[] = [
  fixture(api.readEvents, { after: '', kinds: 'message.stored,group.created', limit: 5 }),
  fixture(api.readEventsByOperator, ({ world }) => ({
    app_id: world.here.appId,
    after: 'now',
    key: 'app',
  })),
  fixture(api.acknowledgeEvents, async (context) => ({
    consumer: 'walk',
    cursor: await consumerCursor(context),
  })),
  fixture(api.listEventConsumers),
  fixture(api.deleteEventConsumer, async (context) => {
    await consumerCursor(context)
    return { consumer: 'walk' }
  }),
]
