import {
  acknowledgeEvents,
  deleteEventConsumer,
  listEventConsumers,
  type ParamsOf,
  readEvents,
  readEventsByOperator,
} from '@hermod/protocol'
import type { EventKind } from '@hermod/protocol/events'
import type { AppService } from '../../domain/apps/app-service.js'
import { eventBody } from '../../domain/events/event-body.js'
import type {
  EventLogPage,
  EventLogService,
  LogStart,
  ReadRequest,
} from '../../domain/events/event-log-service.js'
import { data, type Handler, handle, handleWaiting, whenDone } from '../../pipeline/call.js'

interface EventLogServices {
  readonly eventLog: EventLogService
}

const defaultLimit = 100

/** The handlers of the log of events. */
export function eventLogHandlers({
  apps,
  eventLog,
}: EventLogServices & { readonly apps: Pick<AppService, 'get'> }): Handler[] {
  const read = async (appId: string, params: ReadParams, signal: AbortSignal) => {
    const page = await eventLog.read(appId, toRequest(params), signal)
    return data(toEventPage(page, eventLog.epoch))
  }
  return [
    handleWaiting(readEvents, (params, { principal, signal }) =>
      read(principal.appId, params, signal),
    ),
    handleWaiting(readEventsByOperator, async ({ app_id: appId, ...params }, { signal }) => {
      await apps.get(appId)
      return read(appId, params, signal)
    }),
    handle(acknowledgeEvents, ({ consumer, cursor }, { principal }) =>
      whenDone(eventLog.acknowledge(principal.appId, consumer, cursor)),
    ),
    handle(listEventConsumers, async (_, { principal }) => {
      const consumers = await eventLog.listConsumers(principal.appId)
      return data(
        consumers.map(({ consumer, behind, cursor }) => ({
          name: consumer.name,
          cursor,
          behind,
          used_at: consumer.usedAt,
        })),
      )
    }),
    handle(deleteEventConsumer, ({ consumer }, { principal }) =>
      whenDone(eventLog.deleteConsumer(principal.appId, consumer)),
    ),
  ]
}

type ReadParams = Partial<ParamsOf<typeof readEvents>>

function toRequest(params: ReadParams): ReadRequest {
  const { kinds = '', key = '', limit = defaultLimit, wait = 0 } = params
  return {
    start: toStart(params),
    kinds: new Set(kinds === '' ? [] : (kinds.split(',') as EventKind[])),
    key,
    limit,
    waitMs: wait * 1_000,
  }
}

function toStart({ after = '', consumer }: ReadParams): LogStart {
  if (consumer !== undefined) return { kind: 'consumer', name: consumer }
  if (after === '') return { kind: 'oldest' }
  return after === 'now' ? { kind: 'end' } : { kind: 'cursor', cursor: after }
}

function toEventPage({ events, cursor, hasMore, missed }: EventLogPage, epoch: string) {
  return {
    events: events.map((event) => eventBody(event, epoch)),
    cursor,
    more: hasMore,
    ...(missed !== null && {
      missed: {
        from_position: missed.first,
        to_position: missed.last,
        positions: missed.last - missed.first + 1,
        from: 0,
        to: missed.until,
      },
    }),
  }
}
