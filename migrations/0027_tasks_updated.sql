CREATE INDEX "tasks_updated" ON "tasks" USING btree ("project_id","updated_at","id");
