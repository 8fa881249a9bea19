import { useEffect, useState } from 'react'
import type { Timeline } from '../../../features/sessions/timeline-schema.ts'
import { sessionCheckpointed } from '../../live/event-types.ts'

export const speeds = [1, 8, 60] as const
type Speed = (typeof speeds)[number]

const LONGEST = 2500
const SHORTEST = 120

export interface Replay {
  /** The change that is looked at. */
  current: number
  playing: boolean
  speed: Speed
  setSpeed(speed: Speed): void
  goTo(place: number): void
  step(by: number): void
  toCheckpoint(): void
  toggle(): void
}

/** Steps through the changes, by hand or at the pace at which they came; long waits are cut short. */
export function useReplay({ events }: Timeline): Replay {
  const last = events.length - 1
  const [chosen, setChosen] = useState<number>()
  const [playing, setPlaying] = useState(false)
  const [speed, setSpeed] = useState<Speed>(8)
  const current = Math.min(chosen ?? last, last)
  const goTo = (place: number) => setChosen(Math.max(0, Math.min(last, place)))
  useEffect(() => {
    const [now, next] = [events[current], events[current + 1]]
    if (!playing) return
    if (!now || !next) return setPlaying(false)
    const wait = (Date.parse(next.at) - Date.parse(now.at)) / speed
    const timer = setTimeout(() => setChosen(current + 1), Math.min(LONGEST, Math.max(SHORTEST, wait)))
    return () => clearTimeout(timer)
  }, [playing, current, events, speed])
  return {
    current,
    playing,
    speed,
    setSpeed,
    goTo,
    step: (by) => goTo(current + by),
    toCheckpoint: () => {
      const next = events.findIndex(({ type }, place) => place > current && type === sessionCheckpointed)
      if (next >= 0) goTo(next)
    },
    toggle: () => {
      if (!playing && current >= last) setChosen(0)
      setPlaying(!playing)
    },
  }
}
