CREATE INDEX "imported_records_organization" ON "imported_records" USING btree ("organization_id");
