CREATE TABLE "task_counts" (
	"project_id" uuid NOT NULL,
	"status" text NOT NULL,
	"id" bigserial NOT NULL,
	"n" integer NOT NULL,
	CONSTRAINT "task_counts_project_id_status_id_pk" PRIMARY KEY("project_id","status","id")
);


-- By how much the sums differ from the tasks as they are.
CREATE OR REPLACE FUNCTION task_counts_wrong() RETURNS TABLE (project_id uuid, status text, n bigint)
LANGUAGE sql STABLE AS $$
  SELECT b.project_id, b.status, sum(b.n)::bigint FROM (
    SELECT t.project_id, t.status, count(*) AS n FROM tasks t WHERE t.deleted_at IS NULL GROUP BY 1, 2
    UNION ALL SELECT c.project_id, c.status, -sum(c.n) FROM task_counts c GROUP BY 1, 2) b
  GROUP BY 1, 2 HAVING sum(b.n) <> 0
$$;

-- Corrects the sums, and returns how many were wrong. The statement sees tasks and counts as of one moment and only adds
-- rows, so nobody has to stop writing meanwhile.
CREATE OR REPLACE FUNCTION task_counts_mend() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE wrong integer;
BEGIN
  INSERT INTO task_counts (project_id, status, n) SELECT * FROM task_counts_wrong();
  GET DIAGNOSTICS wrong = ROW_COUNT;
  RETURN wrong;
END $$;

-- Replaces the rows of a project by their sums, at most 2,000 of them, and once in a transaction: the rows that a
-- transaction has removed are in its way until it ends. Rows that another transaction is replacing are left to it.
CREATE OR REPLACE FUNCTION task_counts_fold(project uuid) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF current_setting('tutti.folded', true) = pg_current_xact_id()::text THEN RETURN; END IF;
  PERFORM set_config('tutti.folded', pg_current_xact_id()::text, true);
  WITH old AS MATERIALIZED (
    SELECT c.project_id, c.status, c.id FROM task_counts c WHERE c.project_id = project LIMIT 2000
    FOR UPDATE SKIP LOCKED),
  gone AS (
    DELETE FROM task_counts c USING old WHERE (c.project_id, c.status, c.id) = (old.project_id, old.status, old.id)
    RETURNING c.status, c.n)
  INSERT INTO task_counts (project_id, status, n)
    SELECT project, status, sum(n) FROM gone GROUP BY status HAVING sum(n) <> 0;
END $$;

CREATE OR REPLACE FUNCTION tasks_counted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last bigint;
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.deleted_at IS NULL THEN
    INSERT INTO task_counts (project_id, status, n) VALUES (OLD.project_id, OLD.status, -1) RETURNING id INTO last;
    IF last % 256 = 0 THEN PERFORM task_counts_fold(OLD.project_id); END IF;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.deleted_at IS NULL THEN
    INSERT INTO task_counts (project_id, status, n) VALUES (NEW.project_id, NEW.status, 1) RETURNING id INTO last;
    IF last % 256 = 0 THEN PERFORM task_counts_fold(NEW.project_id); END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER tasks_count_added AFTER INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_counted();
CREATE TRIGGER tasks_count_removed AFTER DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_counted();
CREATE TRIGGER tasks_count_changed AFTER UPDATE OF status, deleted_at, project_id ON tasks FOR EACH ROW
  WHEN (old.status <> new.status OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL)
    OR old.project_id <> new.project_id)
  EXECUTE FUNCTION tasks_counted();

-- After the triggers, which lock the table: an older instance may be writing.
SELECT task_counts_mend();
