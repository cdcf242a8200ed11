import {
  type PushTrace,
  type PushTraceDelivery,
  type PushTraceDevice,
  type PushTraceStep,
  platform,
  pushDeliveryState,
} from '@hermod/protocol'
import type { Delivery } from '../../domain/push/deliveries/delivery-model.js'
import { type DeliveryStep, readSteps } from '../../domain/push/deliveries/delivery-step.js'
import type { Trace, TracedDevice } from '../../domain/push/trace/trace-model.js'
import { describeStep } from '../../domain/push/trace/trace-sentences.js'
import { definedOnly } from '../../lib/defined-only.js'
import { toTaskProgress } from './task-progress.js'

/** A trace as callers see it. */
export function toTrace({ progress, userId, isInAudience, text, devices }: Trace): PushTrace {
  return {
    task: toTaskProgress(progress),
    user_id: userId,
    in_audience: isInAudience,
    text,
    devices: devices.map(toDevice),
  }
}

function toDevice(device: TracedDevice): PushTraceDevice {
  return {
    device_sn: device.deviceSn,
    is_present: device.platform !== null,
    platform: device.platform ?? platform.unknown,
    bindings: device.bindings.map((binding) => ({
      notifier_name: binding.notifierName,
      channel: binding.channel,
      bound_at: binding.boundAt,
      paused_until: binding.pausedUntil,
    })),
    ...(device.delivery === null ? {} : { delivery: toTraceDelivery(device.delivery) }),
    text: device.text,
  }
}

function toTraceDelivery(delivery: Delivery): PushTraceDelivery {
  return {
    state: delivery.state,
    channel: delivery.channel,
    attempts: delivery.attempts,
    next_at: delivery.state === pushDeliveryState.pending ? delivery.nextAt : 0,
    received_at: delivery.receivedAt ?? 0,
    is_silent: delivery.isSilent,
    hides_details: delivery.hidesDetails,
    steps: readSteps(delivery.steps).map(toStep),
  }
}

function toStep(step: DeliveryStep): PushTraceStep {
  const { nextAt, count: _, sessionId: _id, probedAt: _at, ...others } = step
  return definedOnly({ ...others, text: describeStep(step), next_at: nextAt })
}
