DROP INDEX "tasks_parent";
ALTER TABLE "tasks" ADD COLUMN "has_open_blockers" boolean DEFAULT false NOT NULL;
ALTER TABLE "tasks" ADD COLUMN "has_open_parts" boolean DEFAULT false NOT NULL;
ALTER TABLE "tasks" ADD COLUMN "open_waiters" integer DEFAULT 0 NOT NULL;

-- What decides whether these tasks can be started, counted from the rows as they are. "offset 0" makes the planner look
-- up each row: on small or new tables it would join all tasks with all tasks.
CREATE OR REPLACE FUNCTION task_readiness(ids uuid[])
RETURNS TABLE (id uuid, has_open_blockers boolean, has_open_parts boolean, open_waiters integer) LANGUAGE sql STABLE AS $$
  SELECT t.id,
    EXISTS (SELECT 1 FROM (SELECT d.blocked_by_id FROM task_dependencies d
        WHERE d.task_id = t.id AND d.kind = 'blocks' OFFSET 0) d
      CROSS JOIN LATERAL (SELECT 1 FROM tasks b WHERE b.id = d.blocked_by_id AND b.deleted_at IS NULL
        AND b.status NOT IN ('done', 'cancelled') AND b.organization_id = t.organization_id OFFSET 0) b OFFSET 0),
    EXISTS (SELECT 1 FROM tasks p WHERE p.parent_id = t.id AND p.deleted_at IS NULL
      AND p.status NOT IN ('done', 'cancelled') OFFSET 0),
    (SELECT count(*)::integer FROM (SELECT d.task_id FROM task_dependencies d
        WHERE d.blocked_by_id = t.id AND d.kind = 'blocks' OFFSET 0) d
      CROSS JOIN LATERAL (SELECT 1 FROM tasks w WHERE w.id = d.task_id AND w.deleted_at IS NULL
        AND w.status NOT IN ('done', 'cancelled') AND w.organization_id = t.organization_id OFFSET 0) w)
  FROM tasks t WHERE t.id = ANY(ids)
$$;

-- Writes it to the rows, and returns how many were wrong. It locks the rows, in the order of their ids, before it counts:
-- the count is a statement of its own, so it sees what a concurrent transaction has committed before it let them go.
CREATE OR REPLACE FUNCTION tasks_recount(ids uuid[]) RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE wrong integer;
BEGIN
  PERFORM 1 FROM tasks WHERE id = ANY(ids) ORDER BY id FOR NO KEY UPDATE;
  UPDATE tasks t SET has_open_blockers = r.has_open_blockers, has_open_parts = r.has_open_parts,
    open_waiters = r.open_waiters
  FROM task_readiness(ids) r WHERE t.id = r.id AND (t.has_open_blockers, t.has_open_parts, t.open_waiters)
    IS DISTINCT FROM (r.has_open_blockers, r.has_open_parts, r.open_waiters);
  GET DIAGNOSTICS wrong = ROW_COUNT;
  RETURN wrong;
END $$;

CREATE OR REPLACE FUNCTION tasks_of_changed_task() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE near uuid[];
BEGIN
  IF TG_OP = 'INSERT' THEN
    near := ARRAY[NEW.parent_id];
  ELSIF TG_OP = 'DELETE' THEN
    near := ARRAY[OLD.parent_id];
  ELSE
    near := ARRAY(SELECT task_id FROM task_dependencies WHERE blocked_by_id = NEW.id AND kind = 'blocks'
      UNION SELECT blocked_by_id FROM task_dependencies WHERE task_id = NEW.id AND kind = 'blocks');
    IF cardinality(near) > 0 AND OLD.organization_id <> NEW.organization_id THEN near := near || NEW.id; END IF;
    near := array_remove(near || OLD.parent_id || NEW.parent_id, NULL);
  END IF;
  IF cardinality(near) > 0 THEN PERFORM tasks_recount(near); END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION tasks_of_changed_dependencies() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE near uuid[] := ARRAY(SELECT task_id FROM changed WHERE kind = 'blocks'
  UNION SELECT blocked_by_id FROM changed WHERE kind = 'blocks');
BEGIN
  IF cardinality(near) > 0 THEN PERFORM tasks_recount(near); END IF;
  RETURN NULL;
END $$;

SELECT tasks_recount(ARRAY(SELECT task_id FROM task_dependencies UNION SELECT blocked_by_id FROM task_dependencies
  UNION SELECT parent_id FROM tasks WHERE parent_id IS NOT NULL));

CREATE INDEX "tasks_ready" ON "tasks" USING btree ("project_id","assignee_id",(case "priority" when 'critical' then 0 when 'high' then 1 when 'medium' then 2 else 3 end),"due_at","open_waiters" desc,"position","id") WHERE "tasks"."status" = 'todo' and "tasks"."deleted_at" is null and not "tasks"."has_open_blockers" and not "tasks"."has_open_parts";
CREATE INDEX "tasks_ready_team" ON "tasks" USING btree ("organization_id","assignee_id",(case "priority" when 'critical' then 0 when 'high' then 1 when 'medium' then 2 else 3 end),"due_at","open_waiters" desc,"position","id") WHERE "tasks"."status" = 'todo' and "tasks"."deleted_at" is null and not "tasks"."has_open_blockers" and not "tasks"."has_open_parts";
CREATE INDEX "tasks_leased" ON "tasks" USING btree ("organization_id","project_id") WHERE "tasks"."lease_holder_id" is not null;
CREATE INDEX "tasks_parent" ON "tasks" USING btree ("parent_id","status") WHERE "tasks"."parent_id" is not null;

-- Only these changes matter; other updates, such as those of leases, call no function.
CREATE TRIGGER tasks_added AFTER INSERT ON tasks FOR EACH ROW
  WHEN (new.parent_id IS NOT NULL) EXECUTE FUNCTION tasks_of_changed_task();
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks FOR EACH ROW
  WHEN (old.parent_id IS NOT NULL) EXECUTE FUNCTION tasks_of_changed_task();
CREATE TRIGGER tasks_changed AFTER UPDATE OF status, deleted_at, organization_id, parent_id ON tasks FOR EACH ROW
  WHEN ((old.deleted_at IS NULL AND old.status NOT IN ('done', 'cancelled'))
      <> (new.deleted_at IS NULL AND new.status NOT IN ('done', 'cancelled'))
    OR old.organization_id <> new.organization_id OR old.parent_id IS DISTINCT FROM new.parent_id)
  EXECUTE FUNCTION tasks_of_changed_task();
CREATE TRIGGER task_dependencies_added AFTER INSERT ON task_dependencies REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION tasks_of_changed_dependencies();
CREATE TRIGGER task_dependencies_removed AFTER DELETE ON task_dependencies REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION tasks_of_changed_dependencies();
CREATE TRIGGER task_dependencies_changed_from AFTER UPDATE ON task_dependencies REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION tasks_of_changed_dependencies();
CREATE TRIGGER task_dependencies_changed_to AFTER UPDATE ON task_dependencies REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION tasks_of_changed_dependencies();
