DROP INDEX "passages_project";
DROP INDEX "tasks_project";
CREATE INDEX "passages_scope" ON "passages" USING btree ("scope","scope_id") WHERE "passages"."scope" is not null;
CREATE INDEX "tasks_completed" ON "tasks" USING btree ("project_id","completed_at") WHERE "tasks"."status" = 'done' and "tasks"."deleted_at" is null;
CREATE INDEX "passages_project" ON "passages" USING btree ("project_id","kind");
CREATE INDEX "tasks_project" ON "tasks" USING btree ("project_id","status","position") WHERE "tasks"."deleted_at" is null;
